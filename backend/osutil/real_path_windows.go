package osutil

import (
	"os"
	"strings"

	"golang.org/x/sys/windows"
)

// RealPath returns the path of an existing file with all links resolved. filepath.EvalSymlinks does not
// follow the junctions of Windows, which every user may create.
func RealPath(path string) (string, error) {
	fail := func(err error) (string, error) { return "", &os.PathError{Op: "open", Path: path, Err: err} }
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return fail(err)
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	file, err := windows.CreateFile(name, 0, share, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return fail(err)
	}
	defer windows.CloseHandle(file)
	text := make([]uint16, 1<<15) // the longest path
	if _, err := windows.GetFinalPathNameByHandle(file, &text[0], uint32(len(text)), 0); err != nil {
		return fail(err)
	}
	real := windows.UTF16ToString(text)
	if rest, remote := strings.CutPrefix(real, `\\?\UNC\`); remote {
		return `\\` + rest, nil
	}
	return strings.TrimPrefix(real, `\\?\`), nil
}
