package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// How a server was started.
const (
	Directly = "direct"
	ByNpx    = "npx"
)

// Start is the newest start of a server whose command is npx.
type Start struct {
	Server    string        `json:"server"`
	How       string        `json:"how" enum:"direct,npx" doc:"Who started its program: direct is Drawbridge itself"`
	Why       string        `json:"why" doc:"Why npx did; empty for direct"`
	Package   string        `json:"package"`
	Version   string        `json:"version" doc:"Version that is started directly"`
	Took      time.Duration `json:"startNs" doc:"How long the start took, until the tools were listed; 0 while it starts"`
	NpxStart  time.Duration `json:"npxStartNs" doc:"How long the newest start by npx took that installed nothing; 0 if there was none"`
	NpxMemory int64         `json:"npxBytes" doc:"Memory that the processes of npm took beside the server"`
}

// Sentence says how the server was started.
func (s *Start) Sentence() string {
	if s.How == ByNpx {
		return "by npx, because " + s.Why
	}
	text := "directly, without npx: " + s.Package + " " + s.Version
	if s.Took > 0 {
		text += ", in " + s.Took.Round(10*time.Millisecond).String()
	}
	if s.NpxStart > 0 {
		text += "; npx took " + s.NpxStart.Round(10*time.Millisecond).String()
	}
	if s.NpxMemory > 0 {
		text += fmt.Sprintf("; npm would take %.0f MB more", float64(s.NpxMemory)/1e6)
	}
	return text
}

// Starts are the newest starts of all servers whose command is npx, and what direct starts save.
type Starts struct {
	Items       []Start       `json:"items" nullable:"false"`
	SavedMemory int64         `json:"savedBytes" doc:"Memory that npm would take beside the servers that were started directly"`
	SavedTime   time.Duration `json:"savedNs" doc:"Time by which their newest starts were shorter than with npx, in total"`
}

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "GET", "/api/v1/starts", "How the servers that are configured with npx were started, and what direct starts save", f.listStarts)
}

func (f *Feature) listStarts(context.Context, *web.None) (*web.Answer[Starts], error) {
	return web.Reply(f.All())
}

// All returns the newest starts, in the order of the ids.
func (f *Feature) All() Starts {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := Starts{Items: []Start{}}
	for _, id := range slices.Sorted(maps.Keys(f.starts)) {
		s := f.starts[id]
		all.Items = append(all.Items, s)
		if s.How == Directly && s.Took > 0 {
			all.SavedMemory += s.NpxMemory
			all.SavedTime += max(0, s.NpxStart-s.Took)
		}
	}
	return all
}

// pendingPackage is the kind of replaced packages. They are not items of the inbox, because they have no
// deadline.
const pendingPackage approvals.Kind = "package"

// PendingKind implements approvals.Source.
func (f *Feature) PendingKind() approvals.Kind { return pendingPackage }

// Pending returns one approval for each server with replaced packages.
func (f *Feature) Pending() (list []approvals.Item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, server := range slices.Sorted(maps.Keys(f.replaced)) {
		r := f.replaced[server]
		list = append(list, approvals.Item{ID: string(pendingPackage) + ":" + server + ":" + r.key(), Kind: pendingPackage, Server: server, At: r.at.UTC().Truncate(time.Microsecond),
			Message: "Files of " + listed(r.packages) + " in " + r.folder + " were replaced since the server last started, and npm did not do it. " +
				"The server does not start. Accept only if you changed these files yourself; otherwise, delete the folder, and npx installs the package again."})
	}
	return list
}

// key identifies the contents that the user saw.
func (r *replacement) key() string {
	sum := sha256.Sum256([]byte(r.is.Stamp))
	return hex.EncodeToString(sum[:12])
}

// Answer implements approvals.Source: it accepts the code that the user was told of, and starts the
// server. Any other answer leaves it stopped.
func (f *Feature) Answer(ctx context.Context, id, action string) (ended bool, err error) {
	server, key, _ := strings.Cut(strings.TrimPrefix(id, string(pendingPackage)+":"), ":")
	f.mu.Lock()
	r, known := f.replaced[server]
	known = known && r.key() == key
	if known && action == approvals.Accept {
		delete(f.replaced, server)
	}
	f.mu.Unlock()
	if !known {
		return false, core.Errorf(core.CodeNotFound, "this change is no longer pending")
	}
	if action != approvals.Accept {
		return false, nil
	}
	f.accept(server, r.folder, r.is)
	return true, f.Servers.Restart(ctx, server)
}
