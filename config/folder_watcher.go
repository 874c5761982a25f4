package config

import (
	"time"

	"github.com/fsnotify/fsnotify"
)

// closeLimit is how long Close waits for fsnotify.
const closeLimit = time.Second

// maxQueuedNames limits the names that nobody has taken yet.
const maxQueuedNames = 4096

// FolderWatcher reports changes in folders. It takes all that fsnotify reports at once, also while folders are
// added: on Windows, fsnotify waits for its reader when a watched folder is removed or events overflow, and Add,
// Remove and Close of it would wait for ever.
type FolderWatcher struct {
	// Changed receives the path of each file that changed, and "" if some of them are not known.
	Changed chan string
	watcher *fsnotify.Watcher
	closing chan struct{} // closed when fsnotify has closed, or does not
	done    chan struct{}
}

// NewFolderWatcher returns a FolderWatcher, which must be closed.
func NewFolderWatcher() (*FolderWatcher, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &FolderWatcher{Changed: make(chan string), watcher: watcher, closing: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w, nil
}

// Add watches a folder.
func (w *FolderWatcher) Add(folder string) error { return w.watcher.Add(folder) }

// Remove ends what Add began.
func (w *FolderWatcher) Remove(folder string) error { return w.watcher.Remove(folder) }

// Close ends all, within a second. Changed receives nothing more.
func (w *FolderWatcher) Close() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = w.watcher.Close() // on Windows, this may wait for ever: fsnotify 1.10 forgets it if it has an error to report just then
	}()
	select {
	case <-closed:
	case <-time.After(closeLimit):
	}
	close(w.closing)
	<-w.done
}

func (w *FolderWatcher) run() {
	defer close(w.done)
	var queue []string
	add := func(name string) {
		if queue = append(queue, name); len(queue) > maxQueuedNames {
			queue = []string{""}
		}
	}
	for events, failures := w.watcher.Events, w.watcher.Errors; ; {
		var changed chan<- string
		next := ""
		if len(queue) > 0 {
			changed, next = w.Changed, queue[0]
		}
		select {
		case e, open := <-events:
			if !open {
				events = nil
				continue
			}
			add(e.Name)
		case _, open := <-failures:
			if !open {
				failures = nil
				continue
			}
			add("") // such as an overflow: events were lost
		case changed <- next:
			queue = queue[1:]
		case <-w.closing:
			return
		}
	}
}
