// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Offsets of the setup header that a bzImage begins with (Documentation/arch/x86/boot.rst).
const (
	setupSectors  = 0x1f1
	payloadOffset = 0x248
	payloadLength = 0x24c
	headerEnd     = 0x250
)

// decompressors are the programs for the formats that Debian packs its kernels in, by magic number.
var decompressors = []struct {
	magic   []byte
	program []string
}{
	{[]byte{0xfd, '7', 'z', 'X', 'Z', 0}, []string{"xz", "-dc"}},
	{[]byte{0x28, 0xb5, 0x2f, 0xfd}, []string{"zstd", "-dcq"}},
	{[]byte{0x1f, 0x8b}, []string{"gzip", "-dc"}},
}

// extractKernel writes dir/kernel. The uncompressed kernel saves the guest seconds; where its packing is not understood,
// or the program for it is not there, the packed one does as well.
func extractKernel(ctx context.Context, dir string) error {
	packed, err := one(filepath.Join(dir, "boot", "vmlinuz-*"))
	if err != nil {
		return err
	}
	image, err := os.ReadFile(packed)
	if err != nil {
		return err
	}
	kernel := unpackKernel(ctx, image)
	if kernel == nil {
		kernel = image
	}
	return os.WriteFile(filepath.Join(dir, "kernel"), kernel, 0o644)
}

// unpackKernel returns the ELF file within a bzImage, or nil.
func unpackKernel(ctx context.Context, image []byte) []byte {
	if len(image) < headerEnd {
		return nil
	}
	start := (int(image[setupSectors])+1)*512 + int(binary.LittleEndian.Uint32(image[payloadOffset:]))
	end := start + int(binary.LittleEndian.Uint32(image[payloadLength:])) - 4 // the length of the unpacked kernel follows
	if start < 0 || end > len(image) || start > end {
		return nil
	}
	payload := image[start:end]
	for _, d := range decompressors {
		if !bytes.HasPrefix(payload, d.magic) {
			continue
		}
		c := exec.CommandContext(ctx, d.program[0], d.program[1:]...)
		c.Stdin = bytes.NewReader(payload)
		out, err := c.Output()
		if err == nil && bytes.HasPrefix(out, []byte("\x7fELF")) {
			return out
		}
	}
	return nil
}

// one returns the one file that matches.
func one(pattern string) (string, error) {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d files are named %s, one is needed", len(found), pattern)
	}
	return found[0], nil
}
