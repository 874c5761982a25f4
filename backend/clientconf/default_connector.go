package clientconf

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// NewDefault returns a Connector for the user who runs this program. Records are in data/clients,
// and config is our own configuration file. own is set if the data directory was given
// explicitly, so that entries have to name it as well. vault stores the secrets of imported
// servers.
func NewDefault(data string, own bool, config string, vault Vault, getenv func(string) string) (*Connector, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find our own program: %w", err)
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
