// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// Sizes of memory as flags: 64K, 2M, 1G; powers of two.

const sizeUnits = "KMGT"

// parseSize reads a size. Memory is mapped by pages: least and step are one.
func parseSize(flag, s string, page, most uint64) (uint64, error) {
	number, shift := s, 0
	if s != "" {
		if i := strings.IndexByte(sizeUnits, s[len(s)-1]); i >= 0 {
			number, shift = s[:len(s)-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || n == 0 || n > most>>shift || n<<shift%page != 0 {
		return 0, fmt.Errorf("%s %q: want a size such as 64K, 2M or 1G, in pages of %s, up to %s", flag, s, bytesText(page), bytesText(most))
	}
	return n << shift, nil
}

// bytesText gives a size in the largest unit that it is whole in.
func bytesText(n uint64) string {
	unit := ""
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	if unit == "" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%d %s", n, unit)
}

type sizesValue struct {
	flag string
	page uint64
	to   *[]uint64
	most int // how many there may be
}

const maxSize = 1 << 40

// sizesVar makes a flag a list of sizes.
func sizesVar(s kingpin.Settings, flag string, page uint64, to *[]uint64, most int, otherwise ...uint64) {
	*to = otherwise
	s.SetValue(&sizesValue{flag: flag, page: page, to: to, most: most})
}

func (v *sizesValue) String() string {
	words := make([]string, len(*v.to))
	for i, n := range *v.to {
		words[i] = strings.ReplaceAll(bytesText(n), " ", "")
	}
	return strings.Join(words, ",")
}

func (v *sizesValue) Set(s string) error {
	var list []uint64
	for word := range strings.SplitSeq(s, ",") {
		n, err := parseSize(v.flag, word, v.page, maxSize)
		if err != nil {
			return err
		}
		list = append(list, n)
	}
	if len(list) > v.most {
		return fmt.Errorf("%s: %d sizes; at most %d", v.flag, len(list), v.most)
	}
	*v.to = list
	return nil
}
