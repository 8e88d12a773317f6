// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// kernelPackages are the names that Debian gives to its newest kernel and its headers, whatever their version.
var kernelPackages = []string{"linux-image-amd64", "linux-headers-amd64"}

// basePackages are the guest's programs that this machine need not have.
var basePackages = []string{"busybox-static"}

// kernelParts are the prefixes of the packages that a kernel consists of; the others on which it depends are not needed.
var kernelParts = []string{"linux-image-", "linux-headers-", "linux-kbuild-", "linux-binary-", "linux-modules-"}

// A resolver lists the packages that are wanted.
type resolver func(context.Context) ([]string, error)

// apt asks for packages, with the machine's own lists, or with lists of the lab's own below cache.
type apt struct {
	cache   string
	options []string
	log     func(string, ...any)
}

// prepare resolves and downloads, and returns the packages' files. Lists that are absent or too old are replaced by fresh
// ones of the lab's own.
func (a *apt) prepare(ctx context.Context, suite string, wanted resolver) ([]string, error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return nil, unavailable("kernel and programs are Debian's and come with apt-get: %w", err)
	}
	if suite == "" {
		files, err := a.fetch(ctx, wanted)
		if err == nil {
			return files, nil
		}
		a.log("the machine's package lists do not do (%v); making new ones", err)
	}
	if err := a.update(ctx, suite); err != nil {
		return nil, unavailable("package lists: %w", err)
	}
	files, err := a.fetch(ctx, wanted)
	if err != nil {
		return nil, unavailable("packages: %w", err)
	}
	return files, nil
}

// update makes package lists below the cache. Without a suite they are those of the machine's own sources.
func (a *apt) update(ctx context.Context, suite string) error {
	state := filepath.Join(a.cache, "apt-"+suite)
	for _, dir := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(state, dir), 0o755); err != nil {
			return err
		}
	}
	options := []string{"-o", "Dir::State::lists=" + state + "/lists", "-o", "Dir::Cache=" + state}
	if suite != "" {
		source, err := a.source(ctx, suite)
		if err != nil {
			return err
		}
		list := filepath.Join(state, "sources.list")
		if err := os.WriteFile(list, []byte(source), 0o644); err != nil {
			return err
		}
		options = append(options, "-o", "Dir::Etc::sourcelist="+list, "-o", "APT::Default-Release="+suite)
	}
	a.options = options
	_, err := a.run(ctx, "", "apt-get", "-q", "update")
	return err
}

// keyring holds the keys of Debian's archives.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// source writes a line of sources.list: the suite, at the machine's mirror of the main archive.
func (a *apt) source(ctx context.Context, suite string) (string, error) {
	out, err := a.run(ctx, "", "apt-get", "indextargets", "--format", "$(REPO_URI) $(COMPONENT)", "Created-By: Packages")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 2 || f[1] != "main" || !strings.HasSuffix(strings.TrimRight(f[0], "/"), "/debian") {
			continue
		}
		return fmt.Sprintf("deb [signed-by=%s] %s %s main\n", keyring, f[0], suite), nil
	}
	return "", fmt.Errorf("no Debian archive among the machine's sources")
}

// fetch downloads the packages that the cache lacks.
func (a *apt) fetch(ctx context.Context, wanted resolver) ([]string, error) {
	names, err := wanted(ctx)
	if err != nil {
		return nil, err
	}
	out, err := a.run(ctx, "", "apt-get", append([]string{"-q", "download", "--print-uris"}, names...)...)
	if err != nil {
		return nil, err
	}
	debs := filepath.Join(a.cache, "debs")
	if err := os.MkdirAll(debs, 0o755); err != nil {
		return nil, err
	}
	var files, missing []string
	for line := range strings.Lines(out) { // 'URI' FILE SIZE HASH
		f := strings.Fields(line)
		if len(f) < 3 || !strings.HasSuffix(f[1], ".deb") {
			continue
		}
		file := filepath.Join(debs, f[1])
		files = append(files, file)
		if _, err := os.Stat(file); err != nil {
			name, _, _ := strings.Cut(f[1], "_")
			missing = append(missing, name)
		}
	}
	if len(files) < len(names) {
		return nil, fmt.Errorf("apt names %d files for %s", len(files), strings.Join(names, ", "))
	}
	slices.Sort(files)
	if len(missing) > 0 {
		a.log("downloading %s", strings.Join(missing, " "))
		_, err = a.run(ctx, debs, "apt-get", append([]string{"-q", "download"}, missing...)...)
	}
	return files, err
}

// kernel lists the packages that a kernel consists of, and those of the base.
func (a *apt) kernel(ctx context.Context) ([]string, error) {
	part := func(name string) bool {
		return !strings.HasSuffix(name, "-unsigned") && slices.ContainsFunc(kernelParts, func(p string) bool { return strings.HasPrefix(name, p) })
	}
	names, err := a.closure(ctx, kernelPackages, part)
	if err != nil {
		return nil, err
	}
	if len(names) == len(kernelPackages) {
		return nil, fmt.Errorf("apt knows no %s", strings.Join(names, ", "))
	}
	return append(names[len(kernelPackages):], basePackages...), nil // the names themselves are empty packages
}

// closure adds to packages those that they depend on, as far as they are wanted.
func (a *apt) closure(ctx context.Context, names []string, wanted func(string) bool) ([]string, error) {
	found := slices.Clone(names)
	for asked := 0; asked < len(found); {
		out, err := a.run(ctx, "", "apt-cache", append([]string{"depends", "--important"}, found[asked:]...)...)
		if err != nil {
			return nil, err
		}
		asked = len(found)
		for line := range strings.Lines(out) {
			kind, name, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if strings.HasSuffix(kind, "Depends") && wanted(name) && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	return found, nil
}

// run runs a program of apt in dir and returns what it says.
func (a *apt) run(ctx context.Context, dir, name string, args ...string) (string, error) {
	// Some machines are told to keep no index of the lists, and make it anew for each question.
	options := append([]string{"-o", "Dir::Cache::pkgcache=" + filepath.Join(a.cache, "pkgcache.bin")}, a.options...)
	c := exec.CommandContext(ctx, name, append(options, args...)...)
	c.Dir, c.Env = dir, append(os.Environ(), "LC_ALL=C")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), nil
}

// unpack unpacks packages below dir.
func (a *apt) unpack(ctx context.Context, dir string, packages []string) error {
	a.log("unpacking %d packages", len(packages))
	for _, file := range packages {
		if out, err := exec.CommandContext(ctx, "dpkg", "-x", file, dir).CombinedOutput(); err != nil {
			return fmt.Errorf("unpacking %s: %w: %s", file, err, out)
		}
	}
	return nil
}
