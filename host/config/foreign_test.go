package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each client of the table has a folder in testdata/clients with files as its
// documentation shows them, see the README there, each beside a .golden with all that it
// gives. That the client is recognised by the path of its file is in it too.
func TestClients(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	t.Setenv("USERPROFILE", "/home/ada")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	secrets := regexp.MustCompile(`input/[0-9a-f]{12}/`)
	for _, c := range clients {
		t.Run(c.id, func(t *testing.T) {
			files := 0
			err := filepath.WalkDir(filepath.Join("testdata", "clients", c.id), func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() || strings.HasSuffix(path, ".golden") {
					return err
				}
				files++
				file, err := Read(path)
				if err != nil {
					t.Error(err)
					return nil
				}
				if file.Client != c.name {
					t.Errorf("%s is taken for a file of %q", path, file.Client)
				}
				text := strings.NewReplacer(filepath.ToSlash(filepath.Join(here, "testdata", "clients", c.id)), "PROJECT", filepath.ToSlash(here), "FOLDER").
					Replace(filepath.ToSlash(dump(file, nil)))
				compareGolden(t, path+".golden", secrets.ReplaceAllString(text, "input/FILE/"))
				return nil
			})
			if err != nil || files == 0 {
				t.Errorf("%d files, %v", files, err)
			}
		})
	}
}
