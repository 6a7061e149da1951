package api

// SignInWays is how one can sign in beside a token.
type SignInWays struct {
	Provider  string `json:"provider,omitempty" doc:"What the identity provider is called; absent: there is none"`
	Directory string `json:"directory,omitempty" doc:"What the directory is called that knows people's passwords; absent: there is none"`
}

// NewSignIn begins to sign in at the identity provider.
type NewSignIn struct {
	Redirect string `json:"redirect" maxLength:"1000" doc:"URL to which the provider sends the browser back: the sign-in page of this server, or an address of the machine that the browser is on"`
}

// StartedSignIn is a sign-in that goes on in a browser.
type StartedSignIn struct {
	Address   string `json:"address" doc:"URL to be opened in the browser"`
	Flow      string `json:"flow" doc:"Is sent back with what the provider has answered: only who began can finish"`
	State     string `json:"state" doc:"What the provider has to send back"`
	ExpiresAt Time   `json:"expiresAt"`
}

// StartedDevice is a sign-in with a browser that may be elsewhere.
type StartedDevice struct {
	Address         string `json:"address" doc:"URL at which the code is entered"`
	Complete        string `json:"complete,omitempty" doc:"URL with the code in it"`
	UserCode        string `json:"userCode"`
	Device          string `json:"device" doc:"Is sent to ask whether the sign-in is done"`
	IntervalSeconds int    `json:"intervalSeconds" doc:"Between two questions"`
	ExpiresAt       Time   `json:"expiresAt"`
}

// SignInAnswer is what an identity provider has answered: of a sign-in in a browser its
// flow, and code and state as they came back; or a device. Or it is what a directory is
// asked: a name and a password.
type SignInAnswer struct {
	Flow   string `json:"flow,omitempty" maxLength:"4000"`
	Code   string `json:"code,omitempty" maxLength:"8000"`
	State  string `json:"state,omitempty" maxLength:"1000"`
	Device string `json:"device,omitempty" maxLength:"8000"`
	// By the directory.
	User     string `json:"user,omitempty" maxLength:"200"`
	Password string `json:"password,omitempty" maxLength:"1000"`
}

// SignedIn is a session for a program, or that there is none yet.
type SignedIn struct {
	Pending         bool       `json:"pending,omitempty" doc:"Ask again"`
	IntervalSeconds int        `json:"intervalSeconds,omitempty" doc:"By how much longer to wait from now on between two questions"`
	Token           *MadeToken `json:"token,omitempty"`
}
