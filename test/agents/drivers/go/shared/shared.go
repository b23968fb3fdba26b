// Package shared has what both applications need: the callback, the browser and the approvals of changes.
package shared

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// Listen serves a loopback callback. It returns the redirect URI, and a channel with the parameters that arrive.
func Listen() (string, chan url.Values) {
	arrived := make(chan url.Values, 1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Must(err)
	mux := http.NewServeMux()
	mux.HandleFunc("/callback", func(w http.ResponseWriter, r *http.Request) {
		arrived <- r.URL.Query()
		fmt.Fprint(w, "You may close this")
	})
	go http.Serve(listener, mux)
	return "http://" + listener.Addr().String() + "/callback", arrived
}

// OpenBrowser opens a page in the browser of the person.
func OpenBrowser(address string) {
	Must(exec.Command("xdg-open", address).Run())
}

var approval = regexp.MustCompile(`http[^\s"\\]*/approvals\?client=[\w%.:/-]+`)

// Use makes the calls. If the person must approve a call, it opens the page and repeats the call until it succeeds.
func Use(calls string, call func(tool string, values map[string]any) string) {
	var wanted []struct {
		Tool   string
		Values map[string]any
	}
	Must(json.NewDecoder(strings.NewReader(calls)).Decode(&wanted))
	for _, one := range wanted {
		said := call(one.Tool, one.Values)
		if link := approval.FindString(said); link != "" {
			OpenBrowser(link)
			for approval.MatchString(said) {
				time.Sleep(500 * time.Millisecond)
				said = call(one.Tool, one.Values)
			}
		}
		fmt.Println(said)
	}
}

// Must panics if there is an error.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
