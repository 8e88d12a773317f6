#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The guest's first program. The kernel talks on ttyS0; on ttyS1 this obeys the harness: a line "NUMBER SIZE" and a script of
# that size is answered by "NUMBER STATUS SIZE SIZE" and what the script said on standard output and standard error.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t debugfs debugfs /sys/kernel/debug
mount -t tmpfs tmpfs /tmp
hostname lab
ip link set lo up

exec 3<>/dev/ttyS1
stty -F /dev/ttyS1 raw -echo
echo "ready $(uname -r)" >&3
while read -r number size <&3; do
	head -c "$size" <&3 >/tmp/script
	sh /tmp/script >/tmp/stdout 2>/tmp/stderr 3<&- </dev/null
	echo "$number $? $(stat -c %s /tmp/stdout) $(stat -c %s /tmp/stderr)" >&3
	cat /tmp/stdout /tmp/stderr >&3
done
poweroff -f
