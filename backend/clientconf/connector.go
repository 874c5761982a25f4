package clientconf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Options configures a Connector.
type Options struct {
	System System
	// Dir holds records and backups. It is created when needed.
	Dir string
	// Program is the absolute path of the drawbridge binary, for the shim entry.
	Program string
	// Data is the data directory to name in the entry; "" for the default one.
	Data string
	// Config is our own configuration file, which moves and imports write; "" disables both.
	Config string
	// Vault stores the literal secrets of imported servers. If nil, they stay in their
	// entries.
	Vault Vault
	Now   func() time.Time // nil: time.Now
}

// Connector plans, writes and undoes our entries in client files. Its methods may be called
// from any goroutine, but not concurrently for the same client.
type Connector struct {
	system        System
	dir           string
	program       string
	data          string
	config        string
	vault         Vault
	now           func() time.Time
	plannedConfig []byte // our configuration as preceding plans will leave it; nil: read the file
}

// New validates the options. It does not access any file.
func New(o Options) (*Connector, error) {
	if o.Dir == "" || o.Program == "" || o.System.Home == "" || o.System.Getenv == nil {
		return nil, errors.New("clientconf needs a folder, a program, a home and an environment")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Connector{system: o.System, dir: o.Dir, program: o.Program, data: o.Data, config: o.Config, vault: o.Vault, now: o.Now}, nil
}

// NewDefault returns a Connector for the user who runs this program. Records are in data/clients,
// and config is our own configuration file. own is set if the data directory was given
// explicitly, so that entries have to name it as well. vault stores the secrets of imported
// servers.
func NewDefault(data string, own bool, config string, vault Vault, getenv func(string) string) (*Connector, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find the drawbridge executable: %w", err)
	}
	home := getenv("HOME")
	if runtime.GOOS == "windows" || home == "" {
		if home, err = os.UserHomeDir(); err != nil {
			return nil, err
		}
	}
	o := Options{
		System:  System{GOOS: runtime.GOOS, Home: home, Getenv: getenv},
		Dir:     filepath.Join(data, "clients"),
		Program: self,
		Config:  config,
		Vault:   vault,
	}
	if own {
		o.Data = data
	}
	return New(o)
}
