// # Settings
//
// These are the keys of the auth table of a server entry. None has to be there.
//
//	account              a name of your choice, for entries with the same url and different accounts
//	client_id            of a client that you have registered with the authorization server
//	client_secret        of that client, if it has one; { env = … }, { file = … } or { secret = … }
//	client_metadata_url  https URL of a client id metadata document, for servers that read them
//	scopes               a list, in place of those that the server names
//	resource             the resource indicator, in place of the server's; "none" sends none
//	authorization_server issuer of the one authorization server to trust
//	metadata_url         where the metadata of the authorization server is, if it is not in its place
//	authorize_params     a table of more parameters for the page where you sign in
//	callback_host        127.0.0.1 (by itself) or localhost, as it is registered
//	callback_port        as it is registered; any free port by itself
//	callback_path        as it is registered; /callback by itself
//	grant                authorization_code (by itself), device_code, client_credentials, jwt_bearer, enterprise
//	private_key          PEM, with which the client signs its assertions (private_key_jwt)
//	key_alg              of that key: ES256 (by itself), RS256, PS256 or EdDSA
//	key_id               of that key, where the authorization server wants one
//	jwt                  of the workload, for jwt_bearer
//	idp_token_endpoint   of the identity provider, for enterprise
//	idp_client_id        at the identity provider, for enterprise
//	idp_client_secret    at the identity provider, if it wants one
//	id_token             from the identity provider, for enterprise
//	dpop                 bind tokens to a key: auto (where the server asks for it), on or off
package main
