package loopback

import (
	"crypto/sha256"
	"crypto/subtle"
)

type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

func (d digest) equal(other digest) bool {
	return subtle.ConstantTimeCompare(d[:], other[:]) == 1
}
