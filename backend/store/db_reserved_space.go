package store

import (
	"errors"
	"os"
	"time"
)

// reservedBytes is the size of the reserved file in bytes. SQLite needs free space even to delete
// rows.
const reservedBytes = 8 << 20

// reserveDelay is the time after the disk was full during which the file is not created again.
const reserveDelay = 10 * time.Minute

// reservedSpace is a file beside the database that reserves disk space. When the disk is full, the
// file is deleted, so that pending calls can be written and old calls can be deleted. It is used
// only by the recorder's goroutine.
type reservedSpace struct {
	path     string
	released time.Time
}

func (s *Store) fillReservedSpace() {
	if s.broken() || s.opts.Now().Sub(s.reservedSpace.released) < reserveDelay {
		return
	}
	if err := s.reservedSpace.fill(); err != nil {
		s.opts.Log.Debug("Cannot reserve disk space", "error", err)
	}
}

// dropReservedSpace deletes the file and reports whether that freed space.
func (s *Store) dropReservedSpace() bool {
	if os.Remove(s.reservedSpace.path) != nil {
		return false
	}
	s.reservedSpace.released = s.opts.Now()
	s.opts.Log.Warn("The disk is full: the space reserved for the history is now in use")
	return true
}

// ReleaseReservedSpace deletes the reserved file if err, from any part of the program, means that
// the disk is full. It reports whether that freed space. It may be called from any goroutine.
func (s *Store) ReleaseReservedSpace(err error) bool {
	return isDiskFull(err) && os.Remove(s.reservedSpace.path) == nil
}

// fill creates the file if it is missing. It writes data that does not compress to nothing, so
// that the file is not sparse.
func (b reservedSpace) fill() error {
	if info, err := os.Stat(b.path); err == nil && info.Size() >= reservedBytes {
		return nil
	}
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	block := make([]byte, 64<<10)
	for i := range block {
		block[i] = byte(i * 31)
	}
	for range reservedBytes / len(block) {
		if _, err = f.Write(block); err != nil {
			break
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(b.path)
	}
	return err
}
