package observe

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const filesAvailable = true

// openFiles calls found with what a process has open: its executable, descriptors and
// mapped files. Its working directory is none: a server that sets none runs in the home directory.
func openFiles(pid int, found func(path string, written bool)) {
	dir := "/proc/" + strconv.Itoa(pid)
	if path, err := os.Readlink(dir + "/exe"); err == nil {
		found(path, false)
	}
	if folder, err := os.Open(dir + "/fd"); err == nil {
		names, _ := folder.Readdirnames(-1)
		folder.Close()
		for _, name := range names {
			path, err := os.Readlink(dir + "/fd/" + name)
			if err == nil && isRelevant(path) {
				found(path, isWritable(dir+"/fdinfo/"+name))
			}
		}
	}
	maps, err := os.ReadFile(dir + "/maps")
	if err != nil {
		return
	}
	for line := range bytes.Lines(maps) {
		// 7f12…-7f13… rw-s 00000000 08:01 1234      /path
		if slash := bytes.IndexByte(line, '/'); slash > 0 {
			f := bytes.Fields(line[:slash])
			found(string(bytes.TrimRight(line[slash:], "\n")), len(f) > 1 && len(f[1]) >= 4 && f[1][1] == 'w' && f[1][3] == 's')
		}
	}
}

// isWritable reports whether the flags in a file of fdinfo permit writing.
func isWritable(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("flags:")); ok {
			flags, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 8, 64)
			return err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY
		}
	}
	return false
}
