package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/process"

	"github.com/spf13/cobra"
)

func (p *program) diagnostics() *cobra.Command {
	var yes bool
	var output string
	cmd := &cobra.Command{
		Use: "diagnostics", Short: "Write a zip file for a bug report, without secrets, after listing its contents", Args: noArgs,
		Long: "Write a zip file for a bug report: versions, states, the findings of \"drawbridge doctor\", the last log lines, and the configuration with\n" +
			"masked secrets. The contents are listed first. Nothing is sent. With --json, the contents are printed and nothing is written.",
		Example: "  drawbridge diagnostics\n  drawbridge diagnostics --yes --output report.zip",
		RunE: func(cmd *cobra.Command, _ []string) error {
			files, err := p.collect(cmd.Context())
			if err != nil {
				return err
			}
			t := table{title: "Contents", head: []string{"File", "Bytes"}, right: []bool{false, true}}
			err = printList(p, files, t, func(f doctor.File) []string { return []string{f.Name, fmt.Sprint(f.Bytes)} })
			if err != nil || p.json {
				return err
			}
			now := time.Now()
			if output == "" {
				output = doctor.BundleName(now)
			}
			if err := p.confirm(yes, "Write "+output+"?"); err != nil {
				return err
			}
			if err := writeBundle(output, files, now); err != nil {
				return err
			}
			path, err := filepath.Abs(output)
			fmt.Fprintln(p.Stdout, "Written: "+escapeLine(path)+"\nReview the file before you share it.")
			return err
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().StringVarP(&output, "output", "o", "", "the `FILE` to write; an existing file is not overwritten")
	return cmd
}

func writeBundle(path string, files []doctor.File, now time.Time) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the zip: %w", err)
	}
	if err := doctor.WriteZip(f, files, now); err != nil {
		f.Close()
		return fmt.Errorf("cannot write the zip: %w", err)
	}
	return f.Close()
}

// collect requests the bundle from the running daemon, or builds a smaller one without it.
func (p *program) collect(ctx context.Context) ([]doctor.File, error) {
	if p.isDaemonRunning() {
		d, err := p.daemon()
		if err != nil {
			return nil, err
		}
		list, err := get[api.List[doctor.File]](ctx, d, "diagnostics", nil)
		if core.CodeOf(err) != core.CodeNotFound {
			return list.Items, err
		}
	}
	folders, err := p.folders()
	if err != nil {
		return nil, err
	}
	paths, _ := p.sources(folders).Paths() // an unreadable folder omits its files
	admin, _ := loopback.ReadAdminToken(folders.Data)
	o := doctor.BundleOptions{
		Version: p.Version, Now: time.Now(), Folders: folders, Config: paths, Home: p.Getenv("HOME"), Getenv: process.Lookup(ctx, p.Getenv),
		Secrets: []string{admin}, Redact: p.Redact, Documents: map[string]any{"running": false},
	}
	if tokens, err := loopback.NewTokens(folders.Data, nil); err == nil {
		list, err := tokens.ListWithSecrets()
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			o.Secrets = append(o.Secrets, t.Token)
		}
	}
	if vault, err := p.openSecretStore(); err == nil {
		if st := vault.Status(ctx); !st.Locked {
			all, err := vault.List(ctx)
			if err != nil {
				return nil, err
			}
			for _, e := range all {
				if v, err := vault.Get(ctx, e.Name); err == nil {
					o.Secrets = append(o.Secrets, v)
				}
			}
		}
	}
	if patient, err := p.doctorOptions(ctx); err == nil {
		o.Documents["doctor"] = doctor.Examine(ctx, patient)
	}
	return doctor.Bundle(o), nil
}
