"""What a call is for: a dozen classes, for the questions that names are too many for.

Two questions drew the borders. "Where does the time go?" wants the classes that people think in.
"Which call is stuck?" wants every call that waits for work, as it should, in `wait`, `futex` or
`sleep`, however old it is: so `accept` is in `wait`, not in `network`. Only the call's name is
known here, not its arguments: a `read` from a socket is in `file`, and the i386 multiplexers
`socketcall` and `ipc` are in one class each, whatever they are asked to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from exporter.kernel.syscalls import OTHER

#: Every class and what it holds, in the order to show them.
CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "file": "files, directories, mounts, and descriptors of any kind (read, ioctl, epoll_ctl)",
        "network": "sockets, save waiting for a client (accept)",
        "wait": "waits for work: for readiness, completions, messages, children, clients, signals",
        "futex": "locks and conditions of threads",
        "sleep": "sleeps for a given time",
        "memory": "address spaces: mappings, protection, locking, placement, other processes' too",
        "process": "birth, end, identity, limits, scheduling, namespaces of processes and threads",
        "signal": "sends, handles and masks signals; waiting for one is `wait`",
        "ipc": "pipes, eventfds, System V and POSIX queues, semaphores, shared memory",
        "time": "reads and sets clocks and timers",
        "security": "users, groups, capabilities, keys, seccomp, Landlock and its like",
        "system": "the whole machine: modules, bpf, perf, host name, swap; calls long gone",
        OTHER: "what has no class: unknown numbers, names folded together",
    }
)

#: The names of each class, whole and without patterns: what is not here is `other`.
MEMBERS: Mapping[str, str] = MappingProxyType(
    {
        "file": """
            access cachestat chdir chmod chown chown32 chroot close close_range copy_file_range
            creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_ctl_old faccessat
            faccessat2 fadvise64 fadvise64_64 fallocate fanotify_init fanotify_mark fchdir fchmod
            fchmodat fchmodat2 fchown fchown32 fchownat fcntl fcntl64 fdatasync fgetxattr
            file_getattr file_setattr flistxattr flock fremovexattr fsconfig fsetxattr fsmount
            fsopen fspick fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64
            futimesat getcwd getdents getdents64 getxattr getxattrat inotify_add_watch
            inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy io_setup io_submit
            io_uring_register io_uring_setup ioctl lchown lchown32 lgetxattr link linkat listmount
            listxattr listxattrat llistxattr _llseek lookup_dcookie lremovexattr lseek lsetxattr
            lstat lstat64 mkdir mkdirat mknod mknodat mount mount_setattr move_mount
            name_to_handle_at newfstatat oldfstat oldlstat oldstat open open_by_handle_at
            open_tree open_tree_attr openat openat2 pivot_root pread64 preadv preadv2 pwrite64
            pwritev pwritev2 quotactl quotactl_fd read readahead readdir readlink readlinkat readv
            removexattr removexattrat rename renameat renameat2 rmdir sendfile sendfile64
            setxattr setxattrat splice stat stat64 statfs statfs64 statmount statx symlink
            symlinkat sync sync_file_range sync_file_range2 syncfs tee truncate truncate64 umask
            umount umount2 unlink unlinkat ustat utime utimensat utimensat_time64 utimes vmsplice
            write writev
        """,
        "network": """
            bind connect getpeername getpmsg getsockname getsockopt listen putpmsg recv recvfrom
            recvmmsg recvmmsg_time64 recvmsg send sendmmsg sendmsg sendto setsockopt shutdown
            socket socketcall socketpair
        """,
        "wait": """
            accept accept4 epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old io_getevents
            io_pgetevents io_pgetevents_time64 io_uring_enter mq_timedreceive
            mq_timedreceive_time64 msgrcv _newselect pause poll ppoll ppoll_time64 pselect6
            pselect6_time64 restart_syscall rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64
            select semop semtimedop semtimedop_time64 sigsuspend wait4 waitid waitpid
        """,
        "futex": """
            futex futex_requeue futex_time64 futex_wait futex_waitv futex_wake get_robust_list
            set_robust_list
        """,
        "sleep": """
            clock_nanosleep clock_nanosleep_time64 nanosleep
        """,
        "memory": """
            brk cacheflush get_mempolicy madvise map_shadow_stack mbind membarrier memfd_create
            memfd_secret migrate_pages mincore mlock mlock2 mlockall mmap mmap2 move_pages
            mprotect mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free
            pkey_mprotect process_madvise process_mrelease process_vm_readv process_vm_writev
            remap_file_pages set_mempolicy set_mempolicy_home_node userfaultfd
        """,
        "process": """
            arch_prctl breakpoint clone clone3 execve execveat exit exit_group fork get_thread_area
            get_tls getcpu getpgid getpgrp getpid getppid getpriority getrlimit getrusage getsid
            gettid ioprio_get ioprio_set kcmp listns modify_ldt nice personality pidfd_getfd
            pidfd_open prctl prlimit64 ptrace rseq rseq_slice_yield sched_get_priority_max
            sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
            sched_getscheduler sched_rr_get_interval sched_rr_get_interval_time64
            sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield
            set_thread_area set_tid_address set_tls setns setpgid setpriority setrlimit setsid
            times ugetrlimit ulimit unshare uprobe uretprobe uselib usr26 usr32 vfork vm86 vm86old
        """,
        "signal": """
            kill pidfd_send_signal rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo
            rt_sigreturn rt_tgsigqueueinfo sgetmask sigaction sigaltstack signal signalfd
            signalfd4 sigpending sigprocmask sigreturn ssetmask tgkill tkill
        """,
        "ipc": """
            eventfd eventfd2 ipc mq_getsetattr mq_notify mq_open mq_timedsend mq_timedsend_time64
            mq_unlink msgctl msgget msgsnd pipe pipe2 semctl semget shmat shmctl shmdt shmget
        """,
        "time": """
            adjtimex alarm clock_adjtime clock_adjtime64 clock_getres clock_getres_time64
            clock_gettime clock_gettime64 clock_settime clock_settime64 ftime getitimer
            gettimeofday setitimer settimeofday stime time timer_create timer_delete
            timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64
            timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64
        """,
        "security": """
            add_key capget capset getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups
            getgroups32 getresgid getresgid32 getresuid getresuid32 getuid getuid32 keyctl
            landlock_add_rule landlock_create_ruleset landlock_restrict_self lsm_get_self_attr
            lsm_list_modules lsm_set_self_attr request_key seccomp security setfsgid setfsgid32
            setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 setregid setregid32
            setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setuid setuid32
        """,
        "system": """
            acct afs_syscall bdflush bpf break create_module delete_module finit_module
            get_kernel_syms getrandom gtty idle init_module ioperm iopl kexec_file_load kexec_load
            lock mpx nfsservctl oldolduname olduname pciconfig_iobase pciconfig_read
            pciconfig_write perf_event_open prof profil query_module reboot setdomainname
            sethostname stty swapoff swapon _sysctl sysfs sysinfo syslog tuxcall uname vhangup
            vserver
        """,
    }
)

_CLASS_OF = {name: class_ for class_, names in MEMBERS.items() for name in names.split()}


def class_of(name: str) -> str:
    """The class of a call, by its name; `other` for any name that no class lists."""
    return _CLASS_OF.get(name, OTHER)
