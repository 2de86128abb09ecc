/* The few types that bcc's own helpers.h and our program need, in place of the kernel's headers:
 * nothing has to be installed on the node, and no kernel's headers can break the build. */
#ifndef PROCTREE_LINUX_TYPES_H
#define PROCTREE_LINUX_TYPES_H

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;

typedef __s8 s8;
typedef __u8 u8;
typedef __s16 s16;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;

typedef __u16 __be16;
typedef __u16 __le16;
typedef __u32 __be32;
typedef __u32 __le32;
typedef __u64 __be64;
typedef __u64 __le64;
typedef __u16 __sum16;
typedef __u32 __wsum;

#define __aligned_u64 __u64 __attribute__((aligned(8)))

typedef unsigned long size_t;
typedef unsigned long uintptr_t;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

#define __always_inline inline __attribute__((always_inline))

#define CONFIG_BPF_SYSCALL 1
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
/* The feature tests of bcc's helpers.h: the floor of this program. */
#define LINUX_VERSION_CODE KERNEL_VERSION(5, 15, 0)

#endif
