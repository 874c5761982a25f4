package loopback

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"time"
)

// TokenPrefix starts every token of ours, so that scanners and our own redaction
// recognise one.
const TokenPrefix = "dbr_"

// newSecret returns 256 random bits as text.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

func (d digest) equal(other digest) bool {
	return subtle.ConstantTimeCompare(d[:], other[:]) == 1
}

// BearerOf returns the token of a request. Two Authorization headers are none: which
// one counts would depend on the reader.
func BearerOf(r *http.Request) (token string, ok bool) {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, found && strings.EqualFold(scheme, "Bearer") && token != "" && len(token) <= 256
}

// throttle bounds how many failed attempts are answered in earnest. Attempts with
// the right token never pass through it, so nobody can lock others out.
type throttle struct {
	now func() time.Time

	mu    sync.Mutex
	since time.Time
	count int
}

// failuresPerSecond is how many wrong tokens get a 401; more get a 429.
const failuresPerSecond = 10

// failed counts a failure and reports whether there were too many in this second.
func (t *throttle) failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.now(); now.Sub(t.since) >= time.Second || now.Before(t.since) {
		t.since, t.count = now, 0
	}
	t.count++
	return t.count > failuresPerSecond
}
