// SPDX-License-Identifier: Apache-2.0

package ethtool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
	"unsafe"

	"github.com/fabricd/fabricd/probes"
	"golang.org/x/sys/unix"
)

// Commands of SIOCETHTOOL (include/uapi/linux/ethtool.h).
const (
	cmdDriver  = 0x03
	cmdRings   = 0x10
	cmdPause   = 0x12
	cmdStrings = 0x1b
	cmdStats   = 0x1d
	cmdFlags   = 0x27
	cmdSetInfo = 0x37
	cmdTunable = 0x48

	setStats = 1 // sets of names
	setFlags = 2

	tunablePrevention = 3 // of PFC storms, in ms
	tunableU16        = 2

	nameLen = 32 // a name may fill all of it
)

// namesFor is how long the names of a driver that does not change them are
// taken for good without looking.
const namesFor = time.Minute

// maxTries bounds how often statistics are read whose names keep changing.
const maxTries = 4

// live asks the kernel. Kernels before that of the end of 2025 write as many
// values or names as the driver has at that moment, whatever was asked for: all
// buffers have room for more than twice as many as there were.
type live struct {
	fd       int
	ioctl    func(command uintptr, data unsafe.Pointer) error
	name     [unix.IFNAMSIZ]byte
	index    uint32 // of the interface at the beginning
	relabels bool
	request  request // kept, as what follows, so that asking allocates nothing
	which    indexRequest

	names   []byte // head and names as last read
	scratch []byte
	values  []uint64 // head and values
	n       int
	namedAt time.Time
}

// request is struct ifreq as SIOCETHTOOL takes it.
type request struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte
}

// indexRequest is struct ifreq as SIOCGIFINDEX takes it.
type indexRequest struct {
	name  [unix.IFNAMSIZ]byte
	index uint32
	_     [20]byte
}

func openLive(netdev string, relabels bool) (*live, error) {
	l := &live{relabels: relabels}
	if len(netdev) >= len(l.name) {
		return nil, unix.ENODEV
	}
	copy(l.name[:], netdev)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	l.fd, l.ioctl = fd, func(command uintptr, data unsafe.Pointer) error {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), command, uintptr(data)); errno != 0 {
			return errno
		}
		return nil
	}
	if l.index, err = l.ask(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// ask asks which interface has the name now.
func (l *live) ask() (uint32, error) {
	l.which = indexRequest{name: l.name}
	err := l.ioctl(unix.SIOCGIFINDEX, unsafe.Pointer(&l.which))
	return l.which.index, err
}

func (l *live) close() { unix.Close(l.fd) }

func (l *live) call(data unsafe.Pointer) error {
	l.request = request{name: l.name, data: data}
	return l.ioctl(unix.SIOCETHTOOL, unsafe.Pointer(&l.request))
}

func (l *live) driver() (Driver, error) {
	var d struct {
		cmd                             uint32
		driver, version, firmware, bus  [32]byte
		rom                             [32]byte
		_                               [12]byte
		flags, stats, test, eeprom, reg uint32
	}
	d.cmd = cmdDriver
	if err := l.call(unsafe.Pointer(&d)); err != nil {
		return Driver{}, err
	}
	return Driver{Name: text(d.driver[:]), Version: text(d.version[:]), Firmware: text(d.firmware[:]), Bus: text(d.bus[:])}, nil
}

// text reads a name: NUL padded or not at all, and padded with blanks by some.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return probes.Printable(strings.TrimSpace(string(b)))
}

// count asks how many names a set has.
func (l *live) count(set uint32) (int, error) {
	var info struct {
		cmd, _ uint32
		mask   uint64
		n      [1]uint32
	}
	info.cmd, info.mask = cmdSetInfo, 1<<set
	if err := l.call(unsafe.Pointer(&info)); err != nil {
		return 0, err
	}
	switch n := info.n[0]; {
	case info.mask == 0 || n == 0:
		return 0, errUnsupported
	case n > maxStatistics:
		return 0, fmt.Errorf("the driver says that it has %d of them; more than %d are not read", n, maxStatistics)
	default:
		return int(n), nil
	}
}

// room is how many entries a buffer for n has.
func room(n int) int { return 2*n + 1024 }

// readNames reads a set's names into buf, grown if need be: a head of 12 bytes
// and nameLen for each.
func (l *live) readNames(set uint32, n int, buf []byte) ([]byte, error) {
	const head = 12
	if need := head + nameLen*room(n); cap(buf) < need {
		buf = make([]byte, need)
	}
	buf = buf[:cap(buf)]
	binary.NativeEndian.PutUint32(buf, cmdStrings)
	binary.NativeEndian.PutUint32(buf[4:], set)
	binary.NativeEndian.PutUint32(buf[8:], uint32(n))
	if err := l.call(unsafe.Pointer(&buf[0])); err != nil {
		return buf, err
	}
	if got := int(binary.NativeEndian.Uint32(buf[8:])); got > room(n) {
		return buf, fmt.Errorf("the driver has %d names all of a sudden", got)
	} else if got != n {
		return buf[:head+nameLen*min(got, n)], errChanged
	}
	return buf[:head+nameLen*n], nil
}

var errChanged = errors.New("the driver's names keep changing")

// statistics reads values, and names where they are needed. A reading counts
// only if the names before and after it are the same ones.
func (l *live) statistics(s *Statistics) error {
	for range maxTries {
		if index, err := l.ask(); err != nil {
			return err
		} else if index != l.index {
			return ErrReplaced
		}
		if l.n == 0 {
			if err := l.rename(s); errors.Is(err, errChanged) {
				continue
			} else if err != nil {
				return err
			}
		}
		same, err := l.readValues(s)
		if err != nil {
			return err
		}
		if same {
			return nil
		}
		l.n = 0
	}
	return errChanged
}

// rename asks for all names.
func (l *live) rename(s *Statistics) error {
	n, err := l.count(setStats)
	if err != nil {
		return err
	}
	buf, err := l.readNames(setStats, n, l.scratch)
	l.scratch = buf[:0]
	if err != nil {
		return err
	}
	l.names, l.scratch = buf, l.names[:0]
	s.Names = make([]string, n)
	for i := range s.Names {
		s.Names[i] = text(buf[12+nameLen*i:][:nameLen])
	}
	s.Generation++
	l.n, l.namedAt = n, time.Now()
	return nil
}

// readValues reads the values, and says whether the names still hold.
func (l *live) readValues(s *Statistics) (same bool, err error) {
	if need := 1 + room(l.n); cap(l.values) < need {
		l.values = make([]uint64, need)
	}
	head := (*[2]uint32)(unsafe.Pointer(&l.values[0]))
	head[0], head[1] = cmdStats, uint32(l.n)
	if err := l.call(unsafe.Pointer(&l.values[0])); err != nil {
		return false, err
	}
	if int(head[1]) != l.n { // 0 by a kernel that checks
		return false, nil
	}
	s.Values = l.values[1 : 1+l.n]
	if !l.relabels && time.Since(l.namedAt) < namesFor {
		return true, nil
	}
	buf, err := l.readNames(setStats, l.n, l.scratch)
	l.scratch = buf[:0]
	if errors.Is(err, errChanged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.namedAt = time.Now()
	return bytes.Equal(buf[12:], l.names[12:]), nil
}

func (l *live) pause() (Pause, error) {
	p := [4]uint32{cmdPause}
	err := l.call(unsafe.Pointer(&p))
	return Pause{Autonegotiate: p[1] != 0, RX: p[2] != 0, TX: p[3] != 0}, err
}

func (l *live) rings() (Rings, error) {
	r := [9]uint32{cmdRings}
	err := l.call(unsafe.Pointer(&r))
	return Rings{RXMax: int(r[1]), TXMax: int(r[4]), RX: int(r[5]), TX: int(r[8])}, err
}

func (l *live) prevention() (Prevention, error) {
	t := struct {
		cmd, id, kind, size uint32
		ms, _               uint16
	}{cmd: cmdTunable, id: tunablePrevention, kind: tunableU16, size: 2}
	err := l.call(unsafe.Pointer(&t))
	return preventionOf(t.ms), err
}

func (l *live) flags() ([]Flag, error) {
	n, err := l.count(setFlags)
	if err != nil {
		return nil, err
	}
	names, err := l.readNames(setFlags, n, nil)
	if err != nil {
		return nil, err
	}
	bits := [2]uint32{cmdFlags}
	if err := l.call(unsafe.Pointer(&bits)); err != nil {
		return nil, err
	}
	list := make([]Flag, min(n, 32))
	for i := range list {
		list[i] = Flag{text(names[12+nameLen*i:][:nameLen]), bits[1]>>i&1 != 0}
	}
	return list, nil
}
