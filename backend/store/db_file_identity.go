package store

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// fileIdentity identifies the files that a handle has open. SQLite continues to write to files
// that were deleted or moved, without an error, and those writes would be lost.
type fileIdentity struct {
	path          string
	database, wal fs.FileInfo // wal is nil if the WAL file did not exist
}

// identify returns the identity of the files at path. It must be called right after the database
// was opened; database is the file that was opened.
func identify(path string, database fs.FileInfo) fileIdentity {
	id := fileIdentity{path: path, database: database}
	if info, err := os.Stat(path + "-wal"); err == nil {
		id.wal = info
	}
	return id
}

// displacement describes what happened to the files of an open database.
type displacement uint8

const (
	inPlace         displacement = iota
	walRemoved                   // the WAL file was deleted or replaced
	removed                      // no file exists at the path
	replacedByOther              // another file exists at the path
)

// compare reports whether the files at the path are still the ones that are open. It returns
// inPlace if it cannot determine that, for example because the folder cannot be read.
func (id fileIdentity) compare() displacement {
	switch compareFile(id.path, id.database) {
	case removed:
		return removed
	case replacedByOther:
		return replacedByOther
	}
	if id.wal != nil && compareFile(id.path+"-wal", id.wal) != inPlace {
		return walRemoved
	}
	return inPlace
}

func compareFile(path string, was fs.FileInfo) displacement {
	info, err := os.Stat(path)
	switch {
	case err == nil && !os.SameFile(was, info):
		return replacedByOther
	case errors.Is(err, fs.ErrNotExist), isNotDir(err):
		return removed
	}
	return inPlace
}

// removeWAL deletes the WAL file that the closed database left at the path. Its content was
// checkpointed, and a new database at the path would apply it to itself.
func (id fileIdentity) removeWAL() {
	if id.wal != nil && compareFile(id.path+"-wal", id.wal) == inPlace {
		_ = os.Remove(id.path + "-wal")
	}
}

// reopenIfDisplaced reopens the database if its file was deleted, moved or replaced, so that no
// calls are written to a file that can no longer be found.
func (s *Store) reopenIfDisplaced() {
	s.mu.RLock()
	fine := s.h == nil || s.fault != faultNone || s.h.files.compare() == inPlace
	s.mu.RUnlock()
	if fine {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.h == nil || s.fault != faultNone {
		return
	}
	what := s.h.files.compare()
	if what == inPlace {
		return // another goroutine has reopened it
	}
	s.closeDisplaced()
	s.copyRulesOnOpen = what != walRemoved
	if s.open(ctx) != faultNone {
		s.recorder.signal() // the recorder retries
	}
	if what == walRemoved {
		s.opts.Log.Warn("The write-ahead log of the history was removed; its contents were saved.", "path", s.opts.Path)
		return
	}
	sentence := "the history file was removed while Drawbridge was running; a new one was created"
	if what == replacedByOther {
		sentence = "the history file was replaced while Drawbridge was running; the new one is used"
	}
	s.opts.Log.Error("History file was removed or replaced", "path", s.opts.Path)
	s.replaced.Add(1)
	s.recorder.reportReplaced(sentence)
}

// closeDisplaced closes the files that are no longer at the path, after a checkpoint of the WAL:
// if the database was moved, the moved file is complete. It must be called with s.mu held.
func (s *Store) closeDisplaced() {
	_ = s.h.read.Close()
	if _, err := s.h.write.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		s.opts.Log.Error("Cannot complete the history file that was removed or replaced", "path", s.opts.Path, "error", err)
	}
	_ = s.h.close()
	s.h.files.removeWAL()
	s.h = nil
	s.namesGen.Add(1)
}

// copyRecordingRules copies the recording rules into a newly created database, so that calls
// excluded from recording are still excluded after a restart. It must be called with s.mu held.
func (s *Store) copyRecordingRules(ctx context.Context, h *handle) {
	rules := s.Recording()
	if !rules.Paused && len(rules.Rules) == 0 {
		return
	}
	document, err := json.Marshal(rules)
	if err == nil {
		_, err = h.write.ExecContext(ctx, upsertMetadata, recordingKey, document, s.opts.Now().UnixMicro())
	}
	if err != nil {
		s.opts.Log.Error("Cannot save recording rules", "error", err)
	}
}
