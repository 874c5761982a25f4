package loopback

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"

	"golang.org/x/time/rate"
)

// TokenPrefix starts every Drawbridge token, so that secret scanners and our own redaction
// recognize it.
const TokenPrefix = "dbr_"

// newSecret returns 256 random bits, encoded in base64url.
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

// BearerOf returns the bearer token of a request. A request with two Authorization headers has
// none, because parsers differ on which one counts.
func BearerOf(r *http.Request) (token string, ok bool) {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, found && strings.EqualFold(scheme, "Bearer") && token != "" && len(token) <= 256
}

// failuresPerSecond is the number of failures per second that get a 401; further ones get a 429.
const failuresPerSecond = 10

// newFailureLimiter limits the rate of failed attempts. Attempts with a valid token do not pass
// through it, so nobody can lock out others.
func newFailureLimiter() *rate.Limiter { return rate.NewLimiter(failuresPerSecond, failuresPerSecond) }
