package auth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// TestAQuestion cleans what a person is shown, and takes what is typed as it is.
func TestAQuestion(t *testing.T) {
	c := setup(signIn(func(f *auth.Flow) error {
		token, err := f.Prompt(auth.Prompt{Label: "Token\x1b[2J\u202e", Hint: "a\nb", Secret: true})
		if err != nil {
			return err
		}
		f.Credentials(auth.Credentials{Scheme: "Bearer", Token: token})
		return nil
	}))
	c.Person = &signin.Person{Ask: func(_ context.Context, q signin.Question) (string, error) {
		wantText(t, fmt.Sprintf("%+v", q), "{Provider:corp Server:tracker Label:Token [2J Hint:a b Secret:true Refused:false Said:}")
		return "typed\r\n", nil
	}}
	o, err := runFlow(t, c, step.Start{Interactive: true})
	if err != nil || o.credentials.token.Reveal() != "typed" {
		t.Errorf("got %v, %v", o, err)
	}
	c.Person = &signin.Person{Ask: func(context.Context, signin.Question) (string, error) {
		return strings.Repeat("x", step.MaxRecord+1), nil
	}}
	_, err = runFlow(t, c, step.Start{Interactive: true})
	wantError(t, err, step.FailConfig, "too long")
}

// device is a flow that shows a code and asks again and again.
func device(f *auth.Flow) error {
	f.Show(auth.Show{URL: "https://sso.example/device", Code: "AB-CD\x07", Complete: "https://sso.example/device?code=AB-CD"})
	for range 5 {
		if err := f.Wait(5 * time.Second); err != nil {
			return err
		}
	}
	f.Credentials(auth.Credentials{Scheme: "Bearer", Token: "good"})
	return nil
}

// TestShow shows a code once, and waits as long as the person is there.
func TestShow(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var shown []signin.Code
			c := setup(signIn(device))
			c.Person = &signin.Person{ShowCode: func(_ context.Context, c signin.Code) error { shown = append(shown, c); return nil }}
			a := account(t, c)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			result := make(chan error, 1)
			begun := time.Now()
			go func() { result <- a.Login(ctx) }()
			f := runOf(a)
			if leaves {
				cancel()
			}
			if err := <-result; leaves != errors.Is(err, context.Canceled) || !leaves && err != nil {
				t.Errorf("leaves %v: %v", leaves, err)
			}
			<-f.done
			if took := time.Since(begun); !leaves && took != 25*time.Second || leaves && took != 0 {
				t.Errorf("leaves %v: it took %v", leaves, took)
			}
			if leaves {
				known := wantError(t, f.err, step.FailLogin, "was cancelled")
				wantText(t, known.URL, "https://sso.example/device")
			}
			wantText(t, fmt.Sprint(shown), "[{corp tracker https://sso.example/device AB-CD https://sso.example/device?code=AB-CD}]")
		})
	}
}

// A code that cannot be shown, or that the person declines, is waited for no longer.
func TestCodeThatIsNotShown(t *testing.T) {
	says := func(err error) *signin.Person {
		return &signin.Person{ShowCode: func(context.Context, signin.Code) error { return err }}
	}
	for want, person := range map[string]*signin.Person{"cannot do that": {}, "declined": says(signin.ErrDeclined), "no browser": says(errors.New("no browser"))} {
		synctest.Test(t, func(t *testing.T) {
			c := setup(signIn(func(f *auth.Flow) error {
				err := device(f)
				if err != nil {
					return auth.NeedsLogin(err.Error(), "")
				}
				return nil
			}))
			c.Person = person
			a := account(t, c)
			begun := time.Now()
			known := wantError(t, a.Login(t.Context()), step.FailLogin, want)
			wantText(t, known.URL, "https://sso.example/device")
			if took := time.Since(begun); took != 0 {
				t.Errorf("%s: it took %v", want, took)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	var heard *auth.RunResult
	c := setup(signIn(func(f *auth.Flow) (err error) {
		heard, err = f.Run()
		return err
	}))
	c.Run = func(context.Context) (*step.RunResult, error) {
		return &step.RunResult{Code: 1, Stdout: "{}\n", Stderr: "\x1b[31mno"}, nil
	}
	if _, err := runFlow(t, c, step.Start{}); err != nil {
		t.Fatal(err)
	}
	wantText(t, fmt.Sprintf("%d %q %q", heard.Code, heard.Stdout, heard.Stderr), `1 "{}\n" "[31mno"`)
	for want, run := range map[string]func(context.Context) (*step.RunResult, error){
		"no such file": func(context.Context) (*step.RunResult, error) { return nil, errors.New("no such file") },
		"printed more": func(context.Context) (*step.RunResult, error) {
			return &step.RunResult{Stdout: strings.Repeat("x", step.MaxRecord+1)}, nil
		},
	} {
		c.Run = run
		_, err := runFlow(t, c, step.Start{})
		wantError(t, err, step.FailConfig, want)
	}
	c.Run = func(context.Context) (*step.RunResult, error) {
		return nil, fmt.Errorf("run the helper: %w", fs.ErrNotExist)
	}
	_, err := runFlow(t, c, step.Start{})
	var wrong *SettingsError
	if !errors.As(err, &wrong) {
		t.Errorf("a program that is not there: %v, want what is wrong with the entry", err)
	}
}
