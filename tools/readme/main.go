// SPDX-License-Identifier: Apache-2.0

// Command readme puts the output of commands into a Markdown file, so that what the file shows is what they print.
//
//	<!-- output: ./fabricd version -->
//	```
//	(replaced)
//	```
//
// The commands run in the file's own folder, by sh. Exit codes below 64 are results (fabricd check has some), others errors.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: readme FILE.md")
		os.Exit(64)
	}
	if err := update(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "readme: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

func update(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	filled, err := fill(string(text), func(command string) (string, error) { return output(filepath.Dir(file), command) })
	if err != nil || filled == string(text) {
		return err
	}
	return os.WriteFile(file, []byte(filled), 0o644)
}

// fill replaces the fenced block below each marker by what run returns for the marker's command.
func fill(text string, run func(command string) (string, error)) (string, error) {
	const fence = "```"
	var filled strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		filled.WriteString(lines[i])
		command, marked := marker(lines[i])
		if !marked {
			continue
		}
		if i+1 == len(lines) || !strings.HasPrefix(lines[i+1], fence) {
			return "", fmt.Errorf("line %d: no fenced block follows the marker", i+1)
		}
		end := i + 2
		for end < len(lines) && strings.TrimRight(lines[end], "\r\n") != fence {
			end++
		}
		if end == len(lines) {
			return "", fmt.Errorf("line %d: the fenced block does not end", i+2)
		}
		printed, err := run(command)
		if err != nil {
			return "", fmt.Errorf("line %d: %s: %w", i+1, command, err)
		}
		if strings.Contains("\n"+printed, "\n"+fence) {
			return "", fmt.Errorf("line %d: the output of %s would end its block", i+1, command)
		}
		filled.WriteString(lines[i+1])
		filled.WriteString(strings.TrimRight(printed, "\n") + "\n")
		filled.WriteString(lines[end])
		i = end
	}
	return filled.String(), nil
}

func marker(line string) (command string, ok bool) {
	command, ok = strings.CutPrefix(strings.TrimSpace(line), "<!-- output: ")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(command, " -->")
}

func output(dir, command string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "COLUMNS=120", "LC_ALL=C.UTF-8")
	printed, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() < 64 {
		return string(printed), nil
	}
	if exit != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(printed), err
}
