// SPDX-License-Identifier: Apache-2.0

package walls

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

// kernelCode is under the kernel's licence, since it is linked with the kernel.
const kernelCode = "lab/modules"

// licenceLine is what stands at a file's head.
func licenceLine(name string) string {
	if within(name, kernelCode) {
		return "SPDX-License-Identifier: GPL-2.0-only"
	}
	return "SPDX-License-Identifier: Apache-2.0"
}

// readHead returns the first lines of a file, as far as a licence line may stand from its beginning.
func readHead(repository fs.FS, name string) (string, error) {
	file, err := repository.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	head := make([]byte, 1024)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	lines := strings.SplitAfterN(string(head[:n]), "\n", 6)
	return strings.Join(lines[:min(len(lines), 5)], ""), nil
}

// needsLicence tells sources, which carry a licence line, from data, generated files and prose.
func needsLicence(name, head string) bool {
	switch path.Ext(name) {
	case ".go", ".c", ".h":
		return !strings.Contains(head, "// Code generated ")
	case ".sh", ".py", ".yml", ".yaml", ".service":
		return true
	}
	switch path.Base(name) {
	case "Makefile", "Dockerfile":
		return true
	}
	return strings.HasPrefix(head, "#!")
}
