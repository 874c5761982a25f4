package observe

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// Reading the descriptors and memory maps of the observed servers takes at most 1 % of one core.
const (
	minFilesInterval = time.Second
	filesCostFactor  = 100
)

// maxFiles limits the files of one server in memory, as the store limits the stored ones.
const maxFiles = 2000

// FileSamplerOptions are the dependencies of a FileSampler.
type FileSamplerOptions struct {
	Store FileStore
	Log   *slog.Logger
	Now   func() time.Time // time.Now if nil
	// Trees returns the processes of the servers to observe; it is called for each sample.
	Trees func() map[string][]int
}

// FileStore stores what servers open; *store.Store implements it.
type FileStore interface {
	SaveObservations(ctx context.Context, destinations []store.Destination, paths []store.ObservedPath) error
}

// FileSampler samples which files the processes of servers have open. Files that are opened and
// closed between two samples are missed.
type FileSampler struct {
	opts  FileSamplerOptions
	known map[string]map[string]bool // by server and path: whether it was written
}

// NewFileSampler returns a FileSampler. Run must be running.
func NewFileSampler(o FileSamplerOptions) *FileSampler {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &FileSampler{opts: o, known: map[string]map[string]bool{}}
}

// Run samples until ctx is done. It always returns nil.
func (f *FileSampler) Run(ctx context.Context) error {
	if !filesAvailable {
		<-ctx.Done()
		return nil
	}
	sampleUntilDone(ctx, minFilesInterval, filesCostFactor, func() time.Duration {
		var seen map[string]map[string]bool
		cost := measureThreadCPU(func() { seen = f.sample() })
		f.record(ctx, seen)
		return cost
	})
	return nil
}

func (f *FileSampler) sample() map[string]map[string]bool {
	seen := map[string]map[string]bool{}
	for server, pids := range f.opts.Trees() {
		seen[server] = map[string]bool{}
		for _, pid := range pids {
			openFiles(pid, func(path string, written bool) {
				if isRelevant(path) {
					seen[server][path] = seen[server][path] || written
				}
			})
		}
	}
	return seen
}

// systemFolders hold programs and libraries, which every server may read.
var systemFolders = []string{"/proc/", "/sys/", "/dev/", "/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/nix/store/", "/memfd:", "/SYSV", "/anon_"}

// isRelevant reports whether a path belongs into a profile.
func isRelevant(path string) bool {
	if !strings.HasPrefix(path, "/") || strings.HasSuffix(path, " (deleted)") {
		return false
	}
	for _, folder := range systemFolders {
		if strings.HasPrefix(path, folder) {
			return false
		}
	}
	return true
}

// record stores the paths that are new, or newly written.
func (f *FileSampler) record(ctx context.Context, seen map[string]map[string]bool) {
	now := f.opts.Now().UTC()
	var save []store.ObservedPath
	for server := range f.known {
		if seen[server] == nil { // stopped, or no longer observed: its next start is recorded again
			delete(f.known, server)
		}
	}
	for server, paths := range seen {
		known := f.known[server]
		if known == nil {
			known = map[string]bool{}
			f.known[server] = known
		}
		for path, written := range paths {
			was, ok := known[path]
			if ok && (was || !written) || !ok && len(known) >= maxFiles {
				continue
			}
			known[path] = written
			save = append(save, store.ObservedPath{Server: server, Path: path, Written: written, FirstAt: now, LastAt: now})
		}
	}
	if len(save) == 0 {
		return
	}
	if err := f.opts.Store.SaveObservations(ctx, nil, save); err != nil {
		f.opts.Log.Warn("Cannot save the file accesses of servers", "error", err)
	}
}
