"""Secrets as mcli's users make them: given to every run of their user.

    create_secret(EnvVarSecret(name="hf", key="HF_TOKEN", value="…"))
"""

from __future__ import annotations

import os
from typing import Any, ClassVar, Dict, Mapping, Optional, Union

from .client import Client
from .errors import InvalidError


class Secret:
    """A secret. What is listed has a name and a type, never values."""

    secret_type: str = ""
    #: Attributes that are fields and values of the API, by its names.
    _fields: ClassVar[Mapping[str, str]] = {}
    _values: ClassVar[Mapping[str, str]] = {}

    def __init__(self, name: str, **given: Any) -> None:
        self.name = name
        known = {*self._fields.values(), *self._values.values()}
        for k in given:
            if k not in known:
                raise InvalidError(422, "%s takes no %r" % (type(self).__name__, k), hint="it takes " + ", ".join(sorted(known)))
        for k in known:
            setattr(self, k, given.get(k))

    def _store(self, client: Client) -> "Secret":
        values: Dict[str, Union[str, bytes]] = {}
        for api, attribute in self._values.items():
            v = getattr(self, attribute)
            if v is not None:
                values[api] = _content(v) if attribute.endswith(("file", "path_to_key")) else v
        fields = {api: str(getattr(self, a)) for api, a in self._fields.items() if getattr(self, a) is not None}
        client.create_secret(self.name, self.secret_type, values, fields, everywhere=True)
        return self

    def __repr__(self) -> str:
        return "%s(name=%r)" % (type(self).__name__, self.name)


def _content(path: Any) -> bytes:
    try:
        with open(os.path.expanduser(os.fspath(path)), "rb") as f:
            return f.read()
    except OSError as e:
        raise InvalidError(422, "%s cannot be read: %s" % (path, e.strerror), hint="give the path of the file") from None


class EnvVarSecret(Secret):
    """A variable: ``key`` and ``value``."""

    secret_type = "env"
    _fields = {"variable": "key"}
    _values = {"value": "value"}


class MountedSecret(Secret):
    """A file: ``value``, and ``mount_path``."""

    secret_type = "mounted"
    _fields = {"path": "mount_path"}
    _values = {"value": "value"}


class DockerSecret(Secret):
    """Credentials of a registry: ``username``, ``password``, ``server``."""

    secret_type = "docker"
    _fields = {"server": "server", "username": "username"}
    _values = {"password": "password"}


class SSHSecret(Secret):
    """A private key: ``key_file``, and ``mount_path``."""

    secret_type = "ssh"
    _fields = {"path": "mount_path"}
    _values = {"key": "key_file"}


class GitSSHSecret(SSHSecret):
    """A private key for git."""

    secret_type = "git-ssh"


class SFTPSSHSecret(SSHSecret):
    """A private key for SFTP."""

    secret_type = "sftp-ssh"


class S3Secret(Secret):
    """Two files: ``config_file`` and ``credentials_file``."""

    secret_type = "s3"
    _fields = {"path": "mount_directory"}
    _values = {"config": "config_file", "credentials": "credentials_file"}


class GCPSecret(Secret):
    """A file: ``credentials_file``."""

    secret_type = "gcp"
    _fields = {"path": "mount_path"}
    _values = {"credentials": "credentials_file"}


class OCISecret(Secret):
    """Two files: ``config_file`` and ``key_file``."""

    secret_type = "oci"
    _fields = {"path": "mount_directory"}
    _values = {"config": "config_file", "key": "key_file"}


class DatabricksSecret(Secret):
    """``host`` and ``token``."""

    secret_type = "databricks"
    _fields = {"host": "host"}
    _values = {"token": "token"}


class HuggingFaceSecret(Secret):
    """``token``."""

    secret_type = "hf"
    _values = {"token": "token"}


_TYPES = {
    c.secret_type: c
    for c in (EnvVarSecret, MountedSecret, DockerSecret, SSHSecret, GitSSHSecret, SFTPSSHSecret, S3Secret, GCPSecret, OCISecret, DatabricksSecret, HuggingFaceSecret)
}


def of(raw: Mapping[str, Any]) -> Secret:
    """The secret of an entry of a listing."""
    cls = _TYPES.get(str(raw.get("type")), Secret)
    s = cls(str(raw["name"]))
    fields: Mapping[str, str] = raw.get("fields") or {}
    for api, attribute in cls._fields.items():
        setattr(s, attribute, fields.get(api))
    return s


def secret_class(kind: str) -> Optional[type]:
    """The class of a type."""
    return _TYPES.get(kind)
