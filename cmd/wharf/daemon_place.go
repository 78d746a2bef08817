package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/daemon"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/release"
	"github.com/wharf-mcp/wharf/host/config"
)

// configPath returns the whole path of the configuration file, whether or not it exists.
func (a *app) configPath() (string, error) {
	if a.flags.config != "" {
		return filepath.Abs(a.flags.config)
	}
	return config.UserPath()
}

// daemonPlace returns where the daemon of this build and configuration is.
func (a *app) daemonPlace() (daemon.Place, error) {
	folder, err := socketFolder()
	if err != nil {
		return daemon.Place{}, err
	}
	file, err := a.configPath()
	if err != nil {
		return daemon.Place{}, err
	}
	build := release.Version()
	if self, err := os.Executable(); err == nil {
		if info, err := os.Stat(self); err == nil { // two builds may have one version
			build = fmt.Sprint(build, " ", info.Size(), " ", info.ModTime().UnixNano())
		}
	}
	return daemon.At(folder, build, file), nil
}

// ensureDaemon starts the daemon if none runs, and has one that runs stay for a while.
func (a *app) ensureDaemon(ctx context.Context, place daemon.Place) error {
	return place.Ensure(ctx, func(ctx context.Context) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		words, err := a.configAnywhere()
		if err != nil {
			return err
		}
		return place.Start(ctx, append([]string{self, "daemon", "run", "--detached"}, words...), homeFolder())
	})
}

// homeFolder returns the folder in which the daemon runs.
func homeFolder() string {
	if home, err := os.UserHomeDir(); err == nil && isFolder(home) {
		return home
	}
	return string(filepath.Separator)
}
