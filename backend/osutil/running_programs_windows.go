package osutil

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// RunningPrograms returns the files of the programs that run, as far as this user may know them.
func RunningPrograms() (files []string) {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, entry.ProcessID)
		if err != nil {
			continue // of another user
		}
		var name [windows.MAX_LONG_PATH]uint16
		length := uint32(len(name))
		if windows.QueryFullProcessImageName(process, 0, &name[0], &length) == nil {
			files = append(files, windows.UTF16ToString(name[:length]))
		}
		windows.CloseHandle(process)
	}
	return files
}
