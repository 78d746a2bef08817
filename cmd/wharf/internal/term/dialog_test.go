package term

import (
	"testing"
	"testing/synctest"
	"time"
)

// The last words of the program wait for a question to end, and not for ever.
func TestLastWordsAfterAQuestion(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var term Terminal
			_, leave, err := term.Dialog(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { term.AwaitDialog(time.Second); close(ended) }()
			synctest.Wait()
			select {
			case <-ended:
				t.Error("the program spoke into the question")
			default:
			}
			if !stuck {
				leave()
			}
			<-ended
		})
	}
}
