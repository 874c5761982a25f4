package marketplace

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Limits on a bundle.
const (
	MaxBundle    = 256 << 20 // size of the file
	maxUnpacked  = 1 << 30
	maxEntries   = 20000
	maxEntryName = 400
	maxDepth     = 40
	// Binaries typically compress to a third and text to a tenth. A large archive with a higher
	// ratio is a decompression bomb.
	maxRatio        = 100
	minSizeForRatio = 64 << 20
)

// archive is a zip file whose entries have all been checked.
type archive struct {
	files []*zip.File // regular files, in archive order
	names map[string]*zip.File
}

// openArchive reads the directory of a zip file. It rejects the whole archive if any entry is not
// a regular file or a directory below the root. It unpacks nothing.
func openArchive(src []byte) (*archive, error) {
	if len(src) > MaxBundle {
		return nil, validationErrorf("the bundle is larger than %d MiB", MaxBundle>>20)
	}
	z, err := zip.NewReader(bytes.NewReader(src), int64(len(src)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, validationErrorf("the bundle is not a zip archive: %v", err)
	}
	if len(z.File) > maxEntries {
		return nil, validationErrorf("the bundle contains %d files, more than %d", len(z.File), maxEntries)
	}
	a := &archive{names: map[string]*zip.File{}}
	folded := map[string]string{} // all paths, case-folded as Windows and macOS compare them
	folders := map[string]bool{}
	var packed, unpacked uint64
	for _, f := range z.File {
		name, err := checkEntryName(f.Name)
		if err != nil {
			return nil, err
		}
		folder := strings.HasSuffix(f.Name, "/")
		switch kind := f.Mode().Type(); {
		case kind == fs.ModeSymlink:
			return nil, validationErrorf("the bundle contains the symbolic link %q: only regular files are allowed", f.Name)
		case kind != 0 && !(kind == fs.ModeDir && folder), f.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
			return nil, validationErrorf("the bundle contains %q, which is not a regular file", f.Name)
		case f.Flags&1 != 0:
			return nil, validationErrorf("the bundle contains %q, which is encrypted", f.Name)
		case f.Method != zip.Store && f.Method != zip.Deflate:
			return nil, validationErrorf("the bundle contains %q, which is compressed with an unsupported method", f.Name)
		}
		for dir := parentPath(name); dir != ""; dir = parentPath(dir) {
			if err := addUniquePath(folded, folders, dir, true); err != nil {
				return nil, err
			}
		}
		if folder {
			if err := addUniquePath(folded, folders, name, true); err != nil {
				return nil, err
			}
			if f.UncompressedSize64 != 0 {
				return nil, validationErrorf("the folder entry %q of the bundle contains data", f.Name)
			}
			continue
		}
		if err := addUniquePath(folded, folders, name, false); err != nil {
			return nil, err
		}
		if f.UncompressedSize64 > maxUnpacked || f.CompressedSize64 > uint64(len(src)) {
			return nil, validationErrorf("the file %q in the bundle is too large", f.Name)
		}
		packed += f.CompressedSize64
		if unpacked += f.UncompressedSize64; unpacked > maxUnpacked {
			return nil, validationErrorf("the bundle unpacks to more than %d MiB", maxUnpacked>>20)
		}
		a.files = append(a.files, f)
		a.names[name] = f
	}
	// Overlapping entries count their shared compressed bytes repeatedly, so the file size is the
	// upper bound.
	if packed = min(packed, uint64(len(src))); unpacked > minSizeForRatio && unpacked/max(packed, 1) > maxRatio {
		return nil, validationErrorf("the bundle unpacks to %d times its size, like a decompression bomb", unpacked/max(packed, 1))
	}
	return a, nil
}

// addUniquePath registers a path, and rejects one that another entry already has, ignoring case.
func addUniquePath(folded map[string]string, folders map[string]bool, name string, folder bool) error {
	key := strings.ToLower(name)
	other, taken := folded[key]
	if !taken {
		folded[key], folders[key] = name, folder
		return nil
	}
	switch {
	case other != name:
		return validationErrorf("the bundle contains %q and %q, which are the same file on some systems", other, name)
	case folder && folders[key]:
		return nil
	}
	return validationErrorf("the bundle contains %q twice", name)
}

func parentPath(name string) string {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return ""
	}
	return name[:i]
}

// checkEntryName returns the path of an entry without a trailing slash, or the reason why it is
// rejected. The rules of all operating systems apply at once, because the bundle may be unpacked
// elsewhere later.
func checkEntryName(raw string) (string, error) {
	name := strings.TrimSuffix(raw, "/")
	shown := truncate(raw)
	switch {
	case name == "" || len(name) > maxEntryName:
		return "", validationErrorf("the bundle contains a file whose name is empty or too long")
	case !utf8.ValidString(raw) || strings.ContainsFunc(raw, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "", validationErrorf("the bundle contains a file whose name has control characters or is not valid UTF-8")
	case strings.ContainsRune(raw, '\\'):
		return "", validationErrorf("the bundle contains %q: a backslash is a path separator on some systems", shown)
	case strings.HasPrefix(raw, "/"):
		return "", validationErrorf("the bundle contains the absolute path %q", shown)
	case strings.ContainsAny(raw, `:*?"<>|`):
		return "", validationErrorf("the bundle contains %q, which is a drive or an invalid name on some systems", shown)
	case strings.Count(name, "/") >= maxDepth:
		return "", validationErrorf("the bundle contains %q, which is nested too deeply", shown)
	}
	for _, part := range strings.Split(name, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return "", validationErrorf("the bundle contains %q, which is a path outside the bundle", shown)
		case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") || strings.HasPrefix(part, " "):
			return "", validationErrorf("the bundle contains %q: some systems remove leading spaces, trailing spaces or trailing dots from a name", shown)
		case isWindowsDevice(part):
			return "", validationErrorf("the bundle contains %q, which is a device on Windows", shown)
		}
	}
	return name, nil
}

func isWindowsDevice(part string) bool {
	base, _, _ := strings.Cut(strings.ToUpper(part), ".")
	switch base = strings.TrimSpace(base); base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	return len(base) == 4 && (strings.HasPrefix(base, "COM") || strings.HasPrefix(base, "LPT")) && base[3] >= '0' && base[3] <= '9'
}

// readFile returns the content of a file, which must not exceed limit bytes.
func (a *archive) readFile(name string, limit int64) ([]byte, error) {
	f := a.names[name]
	if f == nil {
		return nil, validationErrorf("the bundle does not contain %s", name)
	}
	if f.UncompressedSize64 > uint64(limit) {
		return nil, validationErrorf("%s in the bundle is too large", name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, validationErrorf("cannot read %s in the bundle: %v", name, err)
	}
	defer r.Close()
	out, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil || int64(len(out)) > limit {
		return nil, validationErrorf("cannot read %s in the bundle", name)
	}
	return out, nil
}

// unpack writes the files into dir, which must not exist. It writes all of them or none.
func (a *archive) unpack(dir string) (err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fmt.Errorf("cannot create the folder for bundles: %w", err)
	}
	half, err := os.MkdirTemp(filepath.Dir(dir), ".unpacking-")
	if err != nil {
		return fmt.Errorf("cannot create the folder for a bundle: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(half)
		}
	}()
	root, err := os.OpenRoot(half) // rejects paths that escape it
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // on errors
	left := int64(maxUnpacked)
	for _, f := range a.files {
		if dir := parentPath(f.Name); dir != "" {
			if err := root.MkdirAll(dir, 0o700); err != nil {
				return validationErrorf("cannot write the file %q of the bundle: %v", f.Name, err)
			}
		}
		n, err := extractFile(root, f, left)
		if err != nil {
			return err
		}
		left -= n
	}
	if err := root.Close(); err != nil { // Windows does not move an open folder
		return err
	}
	if err := osutil.RenameFile(half, dir); err != nil {
		return fmt.Errorf("cannot move the bundle into place: %w", err)
	}
	return nil
}

// extractFile copies a file, up to the size that its entry declares.
func extractFile(root *os.Root, f *zip.File, left int64) (int64, error) {
	mode := fs.FileMode(0o600)
	if f.Mode()&0o111 != 0 {
		mode = 0o700
	}
	src, err := f.Open()
	if err != nil {
		return 0, validationErrorf("cannot read the file %q of the bundle: %v", f.Name, err)
	}
	defer src.Close()
	dst, err := root.OpenFile(f.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return 0, validationErrorf("cannot write the file %q of the bundle: %v", f.Name, err)
	}
	defer dst.Close()
	limit := min(int64(f.UncompressedSize64), left)
	n, err := io.Copy(dst, io.LimitReader(src, limit+1))
	switch {
	case err != nil:
		return n, validationErrorf("cannot unpack the file %q of the bundle: %v", f.Name, err)
	case n > limit:
		return n, validationErrorf("the file %q of the bundle is larger than declared", f.Name)
	}
	return n, dst.Close()
}

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
	src, err := osutil.ReadFile(u.path(id))
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
