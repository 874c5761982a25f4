package loopback

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// watchedFile is a small private file that is read again when it has changed on disk. The owner's
// lock guards it.
type watchedFile struct {
	path     string
	lastInfo fs.FileInfo // at the last read; nil if the file did not exist
	wasRead  bool
}

// readIfChanged returns the content and true if the file has changed since the last call, which is
// also the case for a file that was removed; its data is nil.
func (w *watchedFile) readIfChanged() (data []byte, ok bool, err error) {
	info, err := os.Stat(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		first := !w.wasRead || w.lastInfo != nil
		w.lastInfo, w.wasRead = nil, true
		return nil, first, nil
	}
	if err != nil {
		return nil, false, err
	}
	if w.lastInfo != nil && os.SameFile(w.lastInfo, info) && w.lastInfo.Size() == info.Size() && w.lastInfo.ModTime().Equal(info.ModTime()) {
		return nil, false, nil
	}
	if isAccessibleToOthers(info) {
		if err := os.Chmod(w.path, 0o600); err != nil {
			return nil, false, fmt.Errorf("cannot restrict the permissions of %s: %w", w.path, err)
		}
	}
	data, err = os.ReadFile(w.path)
	if err != nil {
		return nil, false, err
	}
	w.lastInfo, w.wasRead = info, true
	return data, true, nil
}
