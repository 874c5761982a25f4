package config

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// pollInterval is the polling interval. Network file systems send no events, and a directory above
// a watched one may be renamed.
const pollInterval = 5 * time.Second

// waitForChange returns when the files have changed and been quiet for Debounce, or when ctx is done.
//
// It watches directories rather than files, because a file that is replaced by a rename loses its
// watch, and the directory of each symbolic link on the way to a file. Each call creates a new
// watcher, because the change may have moved what was watched. The watcher is in place before the
// caller reads the files.
func (r *Reloader) waitForChange(ctx context.Context) error {
	var w *FolderWatcher
	var err error
	if !r.o.Polled {
		w, err = NewFolderWatcher()
	}
	if err != nil {
		r.o.Log.Warn("Cannot watch the configuration; polling every few seconds", "error", err)
	} else if w != nil {
		defer w.Close()
	}
	names, folders := watchDirectories(r.watchedPaths, func(folder string) {
		if w == nil {
			return
		}
		if err := w.Add(folder); err != nil {
			r.o.Log.Debug("Cannot watch folder", "folder", folder, "error", err)
		}
	})
	unread := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.fileStamp() != r.readStamp
	}
	if unread() {
		return nil // changed between the last read and the watch
	}

	var changed <-chan string
	if w != nil {
		changed = w.Changed
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var quiet, late <-chan time.Time
	touched := func() {
		quiet = time.After(r.o.Debounce)
		if late == nil {
			late = time.After(10 * r.o.Debounce)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case name := <-changed:
			if name == "" || isRelevant(name, names, folders) {
				touched()
			}
		case <-ticker.C:
			if quiet == nil && unread() {
				return nil
			}
		case <-quiet:
			return nil
		case <-late: // continuous writes
			return nil
		}
	}
}

// watchDirectories adds a watch for each relevant directory. A path that appears in the meantime
// may be in a directory without a watch and cause no event, so the places are computed again until
// they are stable, at most 20 times.
func watchDirectories(places func() (names, folders map[string]bool), add func(folder string)) (names, folders map[string]bool) {
	for range 20 {
		names, folders = places()
		for folder := range folders {
			add(folder)
		}
		for name := range names {
			add(filepath.Dir(name))
		}
		if n, f := places(); maps.Equal(n, names) && maps.Equal(f, folders) {
			break
		}
	}
	return names, folders
}

// watchedPaths returns the paths whose changes are relevant: the main file, the directory of
// additional files, and each link and missing directory on the way. In folders, every file in the
// directory is relevant.
func (r *Reloader) watchedPaths() (names, folders map[string]bool) {
	names, folders = make(map[string]bool), make(map[string]bool)
	s := r.o.Sources
	addPathAndLinks(names, s.Main(), 0)
	if s.File != "" || s.ConfDir == "" {
		return names, folders
	}
	dir, err := filepath.Abs(s.ConfDir)
	if err != nil {
		return names, folders
	}
	addPathAndLinks(names, dir, 0)
	if entries, err := os.ReadDir(dir); err == nil {
		folders[dir] = true
		for _, e := range entries {
			if e.Type()&os.ModeSymlink != 0 {
				addPathAndLinks(names, filepath.Join(dir, e.Name()), 0)
			}
		}
	}
	return names, folders
}

// isRelevant reports whether a change at path is relevant. Temporary files of atomicfile are not:
// the rename that follows is.
func isRelevant(path string, names, folders map[string]bool) bool {
	return names[path] || folders[filepath.Dir(path)] && !strings.HasPrefix(filepath.Base(path), osutil.TempPrefix)
}

// addPathAndLinks adds path, its directory, and each link on the way to it.
func addPathAndLinks(names map[string]bool, path string, hops int) {
	path, err := filepath.Abs(path)
	if err != nil || hops > 16 {
		return
	}
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		switch {
		case err != nil, dir == path, dir == filepath.Dir(path):
			names[dir] = true
		}
		if err == nil && info.Mode()&os.ModeSymlink != 0 {
			names[dir] = true
			if target, err := os.Readlink(dir); err == nil {
				if !filepath.IsAbs(target) {
					target = filepath.Join(filepath.Dir(dir), target)
				}
				rest, _ := filepath.Rel(dir, path)
				addPathAndLinks(names, filepath.Join(target, rest), hops+1)
			}
		}
		if dir == filepath.Dir(dir) {
			return
		}
	}
}

// fileStamp returns a string that differs when a file has changed. It does not read the files.
func (r *Reloader) fileStamp() string {
	paths, err := r.o.Sources.Paths()
	if err != nil {
		return err.Error()
	}
	var b []byte
	for _, path := range paths {
		b = append(b, path...)
		if info, err := os.Stat(filepath.Dir(path)); err == nil {
			b = append(b, info.Mode().String()...) // a folder that others may write to is refused
		}
		if info, err := os.Stat(path); err == nil {
			b = info.ModTime().AppendFormat(b, time.RFC3339Nano)
			b = append(b, info.Mode().String()...)
			b = append(b, byte(info.Size()), byte(info.Size()>>8), byte(info.Size()>>16))
		}
		b = append(b, '\n')
	}
	return string(b)
}
