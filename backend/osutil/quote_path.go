package osutil

import (
	"strconv"
	"strings"
)

// QuotePath quotes a path for a message: as strconv.Quote does, but with backslashes as Windows writes them.
func QuotePath(path string) string { return strings.ReplaceAll(strconv.Quote(path), `\\`, `\`) }
