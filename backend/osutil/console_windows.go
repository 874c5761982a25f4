package osutil

import (
	"bytes"
	"os"

	"golang.org/x/sys/windows"
)

// AttachConsole prepares the output of drawbridgew.exe, the program without a console. It prints to
// the console it was started from, unless its output is redirected. Without any, as when it is started
// from Explorer or at login, it returns a buffer for errors; otherwise nil.
func AttachConsole() *bytes.Buffer {
	if window, _, _ := kernel32.NewProc("GetConsoleWindow").Call(); window != 0 || valid(windows.STD_ERROR_HANDLE) {
		return nil
	}
	const parent = ^uintptr(0) // ATTACH_PARENT_PROCESS
	if ok, _, _ := kernel32.NewProc("AttachConsole").Call(parent); ok == 0 {
		if !valid(windows.STD_OUTPUT_HANDLE) { // what is printed is not seen, which is no error
			if nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
				os.Stdout = nowhere
			}
		}
		return new(bytes.Buffer)
	}
	if console, err := os.OpenFile("CONOUT$", os.O_RDWR, 0); err == nil {
		os.Stderr = console
		if !valid(windows.STD_OUTPUT_HANDLE) {
			os.Stdout = console
		}
	}
	return nil
}

var kernel32 = windows.NewLazySystemDLL("kernel32.dll")

// valid reports whether the program was started with the standard handle.
func valid(standard uint32) bool {
	h, err := windows.GetStdHandle(standard)
	if err != nil || h == 0 || h == windows.InvalidHandle {
		return false
	}
	kind, err := windows.GetFileType(h)
	return err == nil && kind != windows.FILE_TYPE_UNKNOWN
}

// ShowError shows a message of an error in a dialog, and returns when the user has closed it.
func ShowError(title, text string) {
	message, err := windows.UTF16PtrFromString(text)
	if err == nil {
		_, _ = windows.MessageBox(0, message, windows.StringToUTF16Ptr(title), windows.MB_ICONERROR|windows.MB_SETFOREGROUND)
	}
}
