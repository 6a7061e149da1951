package oidctest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"
)

// SignIn does what a person with a browser does: it opens an address, signs in there, and
// answers to where the browser is sent back, which it does not open.
func SignIn(address, back, name, password string) (*url.URL, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	var came *url.URL
	c := &http.Client{Jar: jar, Timeout: time.Minute, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if back != "" && strings.HasPrefix(r.URL.String(), back) {
			came = r.URL
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := c.Get(address)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	if came != nil { // it was refused without being asked
		return came, nil
	}
	at := resp.Request.URL
	resp, err = c.PostForm(at.String(), url.Values{"id": {at.Query().Get("authRequestID")}, "user_code": {at.Query().Get("user_code")}, "username": {name}, "password": {password}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	switch {
	case err != nil:
		return nil, err
	case back != "" && came == nil:
		return nil, fmt.Errorf("%s answered %s: %s", at, resp.Status, text)
	case back == "" && !strings.Contains(string(text), "you are signed in") && !strings.Contains(string(text), "goes on in the terminal"):
		return nil, errors.New(string(text))
	}
	return came, nil
}
