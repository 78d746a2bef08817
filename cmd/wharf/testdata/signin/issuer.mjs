/**
 * Returns the request handler of an authorization server: oidc-provider as it
 * comes, with its pages for sign-in and consent. Clients register themselves,
 * need PKCE, and get opaque tokens for the one resource of the policy. A refresh
 * token works once: with the second use all that came of the login is revoked.
 */
export async function authorizationServer(load, issuer, policy, introspector, journal) {
  const { Provider, errors } = await load('oidc-provider');
  const provider = new Provider(issuer, {
    clients: [{ ...introspector, redirect_uris: [], response_types: [], grant_types: [] }],
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    pkce: { required: () => true },
    rotateRefreshToken: true,
    features: {
      registration: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo(_, wanted) {
          if (wanted !== policy.resource) throw new errors.InvalidTarget();
          return { scope: policy.scopes, audience: wanted, accessTokenTTL: policy.lifetime, accessTokenFormat: 'opaque' };
        },
      },
    },
  });
  record(provider, journal);
  return provider.callback();
}

/** Notes what a client has done, and what has gone wrong. */
function record(provider, journal) {
  provider.on('registration_create.success', ({ body }) => {
    journal.note('register');
    journal.issued(body.client_secret, body.registration_access_token);
  });
  provider.on('interaction.started', (_, { name }) => journal.note(name));
  provider.on('grant.revoked', () => journal.note('revoke'));
  provider.on('grant.success', ({ oidc, body }) => {
    journal.note(oidc.params.grant_type);
    journal.issued(body.access_token, body.refresh_token);
  });
  const failures = ['registration_create.error', 'authorization.error', 'grant.error', 'revocation.error', 'server_error'];
  for (const failure of failures) {
    provider.on(failure, (_, error) => {
      journal.note(failure);
      console.error(failure, error.message, error.error_detail ?? error.error_description ?? error.stack);
    });
  }
}
