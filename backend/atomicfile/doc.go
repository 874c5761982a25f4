// Package atomicfile replaces small files in one step: a reader, or the next start after a crash,
// sees either the old or the new content and never a part of one.
//
// [Write] and [Replace] write a temporary file beside the target, sync it and rename it.
// [ReplaceUnchanged] additionally fails with ErrChanged if the target no longer has the expected
// content. [Lock] is the lock between processes that makes a read and a write one step. [LockFile]
// and [TryLock] lock a file that processes use as a lock.
package atomicfile
