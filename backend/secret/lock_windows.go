package secret

import (
	"errors"
	"syscall"
)

// sharingViolation is Windows' answer for a file that somebody has open for himself alone.
const sharingViolation syscall.Errno = 32

// tryLock takes the lock unless somebody holds it: the file can be open only once.
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
