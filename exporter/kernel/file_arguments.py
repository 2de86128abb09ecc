"""Which calls name a file, and by which argument: from the manual pages, man-pages 6, section 2."""

from __future__ import annotations

#: A path, by the argument that is (the first of) it; only the first two are looked at.
PATHS = {
    **dict.fromkeys(
        (
            "access", "acct", "chdir", "chmod", "chown", "chown32", "chroot", "creat", "execve",
            "getxattr", "lchown", "lchown32", "lgetxattr", "link", "listxattr", "llistxattr",
            "lremovexattr", "lsetxattr", "lstat", "lstat64", "mkdir", "mknod", "oldlstat",
            "oldstat", "open", "readlink", "removexattr", "rename", "rmdir", "setxattr", "stat",
            "stat64", "statfs", "statfs64", "swapoff", "swapon", "symlink", "truncate",
            "truncate64", "umount", "umount2", "unlink", "utime", "utimes",
        ),
        0,
    ),
    **dict.fromkeys(
        (
            "execveat", "faccessat", "faccessat2", "fchmodat", "fchmodat2", "fchownat", "fstatat64",
            "futimesat", "inotify_add_watch", "linkat", "mkdirat", "mknodat", "name_to_handle_at",
            "newfstatat", "open_tree", "openat", "openat2", "readlinkat", "renameat", "renameat2",
            "statx", "unlinkat", "utimensat", "utimensat_time64",
        ),
        1,
    ),
}  # fmt: skip

#: A descriptor, which is the first argument. (That of `close` names nothing any more.)
DESCRIPTORS = frozenset((
    "fadvise64", "fadvise64_64", "fallocate", "fchdir", "fchmod", "fchown", "fchown32", "fcntl",
    "fcntl64", "fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr", "fsetxattr",
    "fstat", "fstat64", "fstatfs", "fstatfs64", "fsync", "ftruncate", "ftruncate64", "getdents",
    "getdents64", "ioctl", "_llseek", "lseek", "pread64", "preadv", "preadv2", "pwrite64",
    "pwritev", "pwritev2", "read", "readahead", "readv", "sync_file_range", "syncfs", "write",
    "writev",
))  # fmt: skip
