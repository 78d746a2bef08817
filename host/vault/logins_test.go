package vault

import "testing"

// A count of sign-ins has another version each time, is of one server, and is neither a login nor a secret.
func TestSignInCounts(t *testing.T) {
	v := Open(Config{Dir: t.TempDir() + "/v", Keyring: new(drawer)})
	var versions []string
	note := func() {
		t.Helper()
		version, err := v.SignInVersion("a")
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, version)
	}
	note()
	for _, server := range []string{"a", "a", "b"} {
		if err := v.CountSignIn(t.Context(), server); err != nil {
			t.Fatal(err)
		}
		note()
	}
	if versions[0] != "" || versions[1] == "" || versions[2] == versions[1] || versions[3] != versions[2] {
		t.Errorf("versions %q", versions)
	}
	logins, err := v.Entries(t.Context())
	names, err2 := v.Secrets()
	if err != nil || err2 != nil || len(logins)+len(names) > 0 {
		t.Errorf("logins %v, %v, secrets %q, %v", logins, err, names, err2)
	}
}
