package organisation

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

type licenseOutput struct {
	Status int
	Body   api.License
}

type licensesOutput struct{ Body api.LicenseList }

func (s *routes) licenseRoutes() {
	tags := []string{"licenses"}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-licenses", Method: http.MethodGet, Path: "/v1/licenses", Summary: "Everything that is counted for the whole site, with who holds it", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*licensesOutput, error) {
		all, err := s.licenses(ctx)
		return &licensesOutput{Body: api.LicenseList{Items: all}}, problem.OrNil(s.Log, err)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "license", Method: http.MethodGet, Path: "/v1/licenses/{name}", Summary: "One license", Tags: tags,
	}, func(ctx context.Context, in *request.RecordName) (*licenseOutput, error) {
		return s.oneLicense(ctx, in.Name, http.StatusOK)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-license", Method: http.MethodPost, Path: "/v1/licenses", Summary: "Begin to count a license", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct {
		request.DryRunning
		Body api.NewLicense
	}) (*licenseOutput, error) {
		return s.editLicense(ctx, in.DryRun, http.StatusCreated, organisation.Edit{What: organisation.RecordLicense, Name: in.Body.Name, Must: organisation.MustBeNew, License: wire.DecideLicense(in.Body.LicenseSpec)})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "replace-license", Method: http.MethodPut, Path: "/v1/licenses/{name}", Summary: "Decide everything about a license anew, making it where it is not there", Tags: tags,
	}, func(ctx context.Context, in *struct {
		request.RecordName
		request.DryRunning
		Body api.LicenseSpec
	}) (*licenseOutput, error) {
		return s.editLicense(ctx, in.DryRun, http.StatusOK, organisation.Edit{What: organisation.RecordLicense, Name: in.Name, License: wire.DecideLicense(in.Body)})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "change-license", Method: http.MethodPatch, Path: "/v1/licenses/{name}", Summary: "Change some fields of a license: a JSON merge patch, in which null takes a field away", Tags: tags,
	}, func(ctx context.Context, in *struct {
		request.RecordName
		request.DryRunning
		Body map[string]any `contentType:"application/merge-patch+json"`
	}) (*licenseOutput, error) {
		return s.editLicense(ctx, in.DryRun, http.StatusOK, organisation.Edit{What: organisation.RecordLicense, Name: in.Name, Must: organisation.MustExist, License: func(l *core.License) error {
			return request.Patch(wire.LicenseSpec(*l), in.Body, func(n api.LicenseSpec) error { return wire.DecideLicense(n)(l) })
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-license", Method: http.MethodDelete, Path: "/v1/licenses/{name}", Summary: "Forget a license that no workload asks for any more", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, s.drop(organisation.RecordLicense))
}

func (s *routes) licenses(ctx context.Context) ([]api.License, error) {
	all, err := control.Do(ctx, s.Control, organisation.Licenses())
	if err != nil {
		return nil, err
	}
	out := []api.License{}
	for _, l := range all {
		out = append(out, wire.License(l))
	}
	return out, nil
}

func (s *routes) oneLicense(ctx context.Context, name string, status int) (*licenseOutput, error) {
	all, err := s.licenses(ctx)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	l, err := request.Find("license", name, all, func(l api.License) string { return l.Name })
	return &licenseOutput{Status: status, Body: l}, err
}

func (s *routes) editLicense(ctx context.Context, dry bool, status int, e organisation.Edit) (*licenseOutput, error) {
	edited, err := control.Do(ctx, s.Control, organisation.Organise([]organisation.Edit{e}, dry))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	done := edited[0]
	out := &licenseOutput{Status: status, Body: wire.License(organisation.LicenseState{License: *done.After.License})}
	if !dry {
		if out, err = s.oneLicense(ctx, e.Name, status); err != nil {
			return nil, err
		}
	}
	out.Body.Warnings = done.Warnings
	return out, nil
}
