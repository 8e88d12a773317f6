// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What programs need of the kernel's headers, which stand elsewhere on each architecture.

#pragma once

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16, __be16, __le16;
typedef int __s32;
typedef unsigned int __u32, __be32, __le32, __wsum;
typedef long long __s64;
typedef unsigned long long __u64, __be64, __le64;

enum { BPF_MAP_TYPE_ARRAY = 2 };
struct bpf_timer {
	__u64 opaque[2];
} __attribute__((aligned(8)));

enum { BPF_F_MMAPABLE = 1 << 10 };
