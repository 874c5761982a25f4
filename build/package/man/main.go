// Command man generates the manual pages of all commands in a folder: man DIR VERSION.
package main

import (
	"log"
	"os"
	"time"

	"github.com/spf13/cobra/doc"

	"github.com/drawbridge-mcp/drawbridge/backend/cli"
)

func main() {
	dir, version := os.Args[1], os.Args[2]
	if err := os.MkdirAll(dir, 0o755); err != nil {
		log.Fatal(err)
	}
	root := cli.New(cli.Options{Version: version})
	root.DisableAutoGenTag = true
	date := time.Unix(0, 0).UTC() // makes the pages reproducible
	err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Drawbridge " + version, Manual: "Drawbridge", Date: &date}, dir)
	if err != nil {
		log.Fatal(err)
	}
}
