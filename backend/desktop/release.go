package desktop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"aead.dev/minisign"
	"golang.org/x/mod/semver"
)

// Release is the newest release, as the signed document describes it.
type Release struct {
	Version   string    `json:"version"` // semantic version without "v"
	Published time.Time `json:"published"`
	Notes     string    `json:"notes"` // address of the release notes, or ""
}

// newerThan reports whether r is newer than a version of ours, which may begin with "v". The version
// of a build that is not a release, such as "dev" or "v1.2.0-3-g1b5ccca", is never older.
func (r Release) newerThan(version string) bool {
	current := canonical(version)
	return semver.IsValid(current) && !strings.Contains(semver.Prerelease(current), "-g") &&
		semver.Compare(canonical(r.Version), current) > 0
}

func canonical(version string) string {
	if len(version) > 0 && version[0] != 'v' {
		return "v" + version
	}
	return version
}

const (
	readTimeout  = 20 * time.Second
	maxDocument  = 64 << 10
	signatureExt = ".minisig" // as minisign names it
)

// read reads the document at address and its signature, and verifies it with publicKey, which is the
// second line of a public key file of minisign.
func read(ctx context.Context, address, publicKey string) (Release, error) {
	var key minisign.PublicKey
	if err := key.UnmarshalText([]byte(publicKey)); err != nil {
		return Release{}, errors.New("updates.publicKey is not a minisign public key")
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	document, err := get(ctx, address)
	if err != nil {
		return Release{}, err
	}
	signature, err := get(ctx, address+signatureExt)
	if err != nil {
		return Release{}, err
	}
	if !minisign.Verify(key, document, signature) {
		return Release{}, fmt.Errorf("the signature of %s is not valid", address)
	}
	var r Release
	if err := json.Unmarshal(document, &r); err != nil || !semver.IsValid(canonical(r.Version)) {
		return Release{}, fmt.Errorf("%s does not describe a release", address)
	}
	if u, err := url.Parse(r.Notes); r.Notes != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http") {
		r.Notes = ""
	}
	return r, nil
}

var client = &http.Client{
	CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("too many redirects")
		}
		return requireHTTPSOrLoopback(req.URL)
	},
}

func get(ctx context.Context, address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("updates.url is not a URL")
	}
	if err := requireHTTPSOrLoopback(u); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", address, err)
	}
	req.Header.Set("User-Agent", "drawbridge")
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", address, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("cannot read %s: %s", address, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", address, err)
	}
	if len(body) > maxDocument {
		return nil, fmt.Errorf("%s is larger than %d bytes", address, maxDocument)
	}
	return body, nil
}

// requireHTTPSOrLoopback accepts https, and http on this machine.
func requireHTTPSOrLoopback(u *url.URL) error {
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme == "https" || u.Scheme == "http" && local {
		return nil
	}
	return errors.New("updates.url must use https")
}
