// Command docs generates the documents that can be derived from the program: the references of the
// configuration, the commands and the clients, and the list of third-party licences. make docs runs
// it; a test fails if a document is out of date.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// documentGenerators maps the path of each document that needs only the source tree to its
// generator.
var documentGenerators = map[string]func() ([]byte, error){
	"docs/configuration.md":     configuration,
	"docs/commands.md":          commands,
	"docs/supported-clients.md": clients,
}

const mark = "<!-- written by make docs; do not edit -->\n"

func main() {
	root := flag.String("root", ".", "the tree's root")
	notices := flag.String("notices", "", "write the licences of what we ship into this file, and no documents")
	bill := flag.String("sbom", "", "write the software bill of materials into this file, and no documents")
	version := flag.String("version", "", "our version in the software bill of materials")
	check := flag.Bool("check", false, "check that the software bill of materials lists the modules of the programs in the arguments")
	flag.Parse()
	if *check {
		if err := checkPrograms(*bill, flag.Args()); err != nil {
			fmt.Fprintln(os.Stderr, "docs:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*root, *notices, *bill, *version); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func run(root, notices, bill, version string) error {
	shipped, err := shippedWith(root)
	if err != nil {
		return err
	}
	if bill != "" {
		text, err := sbom(shipped, version)
		if err != nil {
			return err
		}
		if err := os.WriteFile(bill, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	if notices != "" {
		return os.WriteFile(notices, licenceTexts(shipped), 0o644)
	}
	if bill != "" {
		return nil
	}
	for path, write := range documentGenerators {
		text, err := write()
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
		if err := writeIfChanged(filepath.Join(root, path), text); err != nil {
			return err
		}
	}
	return writeIfChanged(filepath.Join(root, licencesFile), licences(shipped))
}

// writeIfChanged writes a file if its text has changed.
func writeIfChanged(path string, text []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return os.WriteFile(path, text, 0o644)
}
