package secret

import (
	"errors"
	"syscall"
)

// sharingViolation is ERROR_SHARING_VIOLATION, for a file that is open in exclusive mode.
const sharingViolation syscall.Errno = 32

// tryLock acquires the lock file at path without blocking, by opening it in exclusive mode. held is
// true if another process holds it. The system releases the lock when the process ends.
func tryLock(path string) (unlock func(), held bool, err error) {
	p, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, false, err
	}
	h, err := syscall.CreateFile(p, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	return func() { _ = syscall.CloseHandle(h) }, false, nil
}
