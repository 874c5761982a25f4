package marketplace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

const (
	// MaxPart is the maximum size of a part in bytes.
	MaxPart = 2 << 20

	maxUploads   = 3
	uploadPrefix = ".upload-"
	uploadLife   = 30 * time.Minute
)

// Uploads holds bundles that a browser uploads in parts, until they are installed or forgotten.
// Each is stored in a file that is neither unpacked nor run. Uploads are limited in number, size
// and age. The methods are safe for concurrent use.
type Uploads struct {
	Folder string           // created when needed
	Now    func() time.Time // nil: time.Now

	mu  sync.Mutex
	all map[string]*upload
}

type upload struct {
	size, got int64
	at        time.Time // time of the last part
}

// Begin starts an upload of size bytes and returns its id. It discards the oldest upload when
// there are too many, and files that an earlier process left behind.
func (u *Uploads) Begin(size int64) (id string, err error) {
	switch {
	case size > MaxBundle:
		return "", validationErrorf("the bundle is larger than %d MiB", MaxBundle>>20)
	case size <= 0:
		return "", validationErrorf("the bundle is empty")
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := os.MkdirAll(u.Folder, 0o700); err != nil {
		return "", fmt.Errorf("cannot create the folder for bundles: %w", err)
	}
	u.removeExpired()
	id = rand.Text()
	if err := os.WriteFile(u.path(id), nil, 0o600); err != nil {
		return "", fmt.Errorf("cannot save the bundle: %w", err)
	}
	if u.all == nil {
		u.all = map[string]*upload{}
	}
	u.all[id] = &upload{size: size, at: u.now()}
	return id, nil
}

// removeExpired discards expired uploads, the oldest ones above the limit, and files that belong to
// no upload. It must be called with u.mu held.
func (u *Uploads) removeExpired() {
	for {
		oldest := ""
		for id, one := range u.all {
			if oldest == "" || one.at.Before(u.all[oldest].at) {
				oldest = id
			}
		}
		if oldest == "" || len(u.all) < maxUploads && u.now().Sub(u.all[oldest].at) < uploadLife {
			break
		}
		delete(u.all, oldest)
	}
	files, _ := filepath.Glob(filepath.Join(u.Folder, uploadPrefix+"*"))
	for _, file := range files {
		if u.all[strings.TrimPrefix(filepath.Base(file), uploadPrefix)] == nil {
			_ = os.Remove(file)
		}
	}
}

// Append adds a part. offset must equal the number of bytes received so far. It returns the
// number of bytes received.
func (u *Uploads) Append(id string, offset int64, part []byte) (got int64, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	one := u.all[id]
	switch {
	case one == nil:
		return 0, unknownUploadError()
	case offset != one.got:
		return one.got, core.Errorf(core.CodeConflict, "the next part must start at offset %d", one.got)
	case len(part) == 0 || len(part) > MaxPart || one.got+int64(len(part)) > one.size:
		return one.got, validationErrorf("the part is empty, is larger than %d MiB, or exceeds the announced size", MaxPart>>20)
	}
	file, err := os.OpenFile(u.path(id), os.O_WRONLY, 0o600)
	if err != nil {
		return one.got, fmt.Errorf("cannot save the bundle: %w", err)
	}
	_, err = file.WriteAt(part, offset)
	if err = errors.Join(err, file.Close()); err != nil {
		return one.got, &core.Error{Code: core.CodeUnavailable, Message: "cannot save the bundle", Hint: "Check that the disk is not full.", Cause: err}
	}
	one.got += int64(len(part))
	one.at = u.now()
	return one.got, nil
}

// Read returns a complete upload.
func (u *Uploads) Read(id string) ([]byte, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	one := u.all[id]
	if one == nil {
		return nil, unknownUploadError()
	}
	if one.got != one.size {
		return nil, core.Errorf(core.CodeConflict, "only %d of %d bytes of the bundle have arrived", one.got, one.size)
	}
	one.at = u.now()
	src, err := os.ReadFile(u.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		delete(u.all, id)
		return nil, unknownUploadError()
	}
	return src, err
}

// Forget discards an upload. It does nothing if the upload does not exist.
func (u *Uploads) Forget(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all[id] != nil {
		delete(u.all, id)
		_ = os.Remove(u.path(id))
	}
}

func (u *Uploads) path(id string) string { return filepath.Join(u.Folder, uploadPrefix+id) }

func (u *Uploads) now() time.Time {
	if u.Now != nil {
		return u.Now()
	}
	return time.Now()
}

func unknownUploadError() error {
	return &core.Error{Code: core.CodeNotFound, Message: "the uploaded bundle has expired", Hint: "Choose the file again."}
}
