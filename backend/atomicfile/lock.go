package atomicfile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lockWait limits how long Lock waits. An edit takes milliseconds.
const lockWait = 10 * time.Second

// Lock acquires the lock that all Drawbridge processes hold from reading the file path until its
// replacement. Editors do not use it; ReplaceUnchanged detects their writes. Lock waits until ctx
// is cancelled, at most 10 seconds. It creates the directory if necessary. The caller must call
// unlock.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	dir := filepath.Dir(resolveSymlinks(path))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := openLock(dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		locked, err := tryLock(f)
		if locked {
			return func() { f.Close() }, nil
		}
		if err == nil {
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
				err = fmt.Errorf("another program is writing %s: %w", path, ctx.Err())
			}
		}
		f.Close()
		return nil, err
	}
}
