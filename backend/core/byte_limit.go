package core

import "strconv"

// FormatLimit returns a limit in bytes for display, such as "4 MiB".
func FormatLimit(bytes int64) string {
	switch {
	case bytes > 0 && bytes%(1<<20) == 0:
		return strconv.FormatInt(bytes>>20, 10) + " MiB"
	case bytes > 0 && bytes%(1<<10) == 0:
		return strconv.FormatInt(bytes>>10, 10) + " KiB"
	}
	return strconv.FormatInt(bytes, 10) + " bytes"
}
