package store

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// fileIdentity is which files a handle has open. SQLite keeps on writing to files that were
// removed or moved, without an error, and all of that would be lost.
type fileIdentity struct {
	path          string
	database, log fs.FileInfo // log: nil when it was not there
}

// identify notes the files at path, right after they were opened as database.
func identify(path string, database fs.FileInfo) fileIdentity {
	id := fileIdentity{path: path, database: database}
	if info, err := os.Stat(path + "-wal"); err == nil {
		id.log = info
	}
	return id
}

// displacement is what happened to the files of an open history.
type displacement uint8

const (
	inPlace    displacement = iota
	logRemoved              // the log of changes was removed or replaced
	removed                 // there is no file at the path
	exchanged               // there is another file at the path
)

// check reports whether the files at the path are still those that are open. What cannot be
// told, because the folder cannot be read, is no displacement.
func (id fileIdentity) check() displacement {
	switch state(id.path, id.database) {
	case removed:
		return removed
	case exchanged:
		return exchanged
	}
	if id.log != nil && state(id.path+"-wal", id.log) != inPlace {
		return logRemoved
	}
	return inPlace
}

func state(path string, was fs.FileInfo) displacement {
	info, err := os.Stat(path)
	switch {
	case err == nil && !os.SameFile(was, info):
		return exchanged
	case errors.Is(err, fs.ErrNotExist), notAFolder(err):
		return removed
	}
	return inPlace
}

// dropLog removes the log of changes that the closed database left at the path: what it held
// was folded back, and a new database would take it for its own.
func (id fileIdentity) dropLog() {
	if id.log != nil && state(id.path+"-wal", id.log) == inPlace {
		_ = os.Remove(id.path + "-wal")
	}
}

// followPath opens the history again when its file was removed, moved or replaced, so that
// nothing is written to a file that nobody finds any more.
func (s *Store) followPath() {
	s.mu.RLock()
	fine := s.h == nil || s.fault != faultNone || s.h.files.check() == inPlace
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
	what := s.h.files.check()
	if what == inPlace {
		return // somebody else was faster
	}
	s.leave()
	s.displaced = what != logRemoved
	if s.open(ctx) != faultNone {
		s.recorder.wakeUp() // it tries again
	}
	if what == logRemoved {
		s.o.Log.Warn("The log of changes of the history was removed. What it held was saved.", "path", s.o.Path)
		return
	}
	sentence := "the history file was removed while Drawbridge was running; a new one begun"
	if what == exchanged {
		sentence = "the history file was replaced while Drawbridge was running; the new one is used"
	}
	s.o.Log.Error("History file was removed or replaced", "path", s.o.Path)
	s.replaced.Add(1)
	s.recorder.noteReplaced(sentence)
}

// leave closes the files that are no longer at the path, and folds the log of changes into
// them: whoever moved the database away then has all of it. It must be called with s.mu held.
func (s *Store) leave() {
	_ = s.h.read.Close()
	_, _ = s.h.write.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	_ = s.h.close()
	s.h.files.dropLog()
	s.h = nil
	s.renamed.Add(1)
	s.past.Add(1)
}

// keepRecording saves the recording rules in a history that begins anew: what shall not be
// recorded must not be recorded after a restart either. It must be called with s.mu held.
func (s *Store) keepRecording(ctx context.Context, h *handle) {
	rules := s.Recording()
	if !rules.Paused && len(rules.Rules) == 0 {
		return
	}
	document, err := json.Marshal(rules)
	if err == nil {
		_, err = h.write.ExecContext(ctx, saveFact, recordingFact, document, s.o.Now().UnixMicro())
	}
	if err != nil {
		s.o.Log.Error("Cannot save recording rules", "error", err)
	}
}
