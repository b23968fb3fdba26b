package example;

import static org.springframework.security.oauth2.client.web.OAuth2AuthorizationRequestCustomizers.withPkce;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.http.MediaType;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.Authentication;
import org.springframework.security.oauth2.client.OAuth2AuthorizationContext;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.RefreshTokenOAuth2AuthorizedClientProvider;
import org.springframework.security.oauth2.client.annotation.RegisteredOAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.endpoint.RestClientAuthorizationCodeTokenResponseClient;
import org.springframework.security.oauth2.client.endpoint.RestClientRefreshTokenTokenResponseClient;
import org.springframework.security.oauth2.client.oidc.authentication.OidcIdTokenDecoderFactory;
import org.springframework.security.oauth2.client.oidc.web.logout.OidcClientInitiatedLogoutSuccessHandler;
import org.springframework.security.oauth2.client.registration.ClientRegistration;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.client.web.DefaultOAuth2AuthorizationRequestResolver;
import org.springframework.security.oauth2.client.web.OAuth2AuthorizedClientRepository;
import org.springframework.security.oauth2.jose.jws.SignatureAlgorithm;
import org.springframework.security.oauth2.jwt.JwtDecoderFactory;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.csrf.CsrfToken;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;
import org.springframework.web.servlet.view.RedirectView;

@SpringBootApplication
@RestController
public class Application {
    @Value("${ISSUER}")
    String issuer;

    @Value("${SIGNED_OUT_URI}")
    String signedOutUri;

    @Autowired
    OAuth2AuthorizedClientRepository store;

    public static void main(String[] words) {
        SpringApplication.run(Application.class, words);
    }

    /** Without this bean, Spring expects RS256. */
    @Bean
    JwtDecoderFactory<ClientRegistration> idTokenDecoderFactory() {
        var factory = new OidcIdTokenDecoderFactory();
        factory.setJwsAlgorithmResolver(client -> SignatureAlgorithm.ES256);
        return factory;
    }

    @Bean
    SecurityFilterChain security(HttpSecurity http, ClientRegistrationRepository clients) throws Exception {
        // Adds `resource` and PKCE. From version 7, confidential clients use PKCE by default.
        var requests = new DefaultOAuth2AuthorizationRequestResolver(clients, "/oauth2/authorization");
        requests.setAuthorizationRequestCustomizer(withPkce()
            .andThen(request -> request.additionalParameters(more -> more.put("resource", issuer))));

        var tokens = new RestClientAuthorizationCodeTokenResponseClient();
        tokens.setParametersCustomizer(parameters -> parameters.set("resource", issuer));

        var signOut = new OidcClientInitiatedLogoutSuccessHandler(clients);
        signOut.setPostLogoutRedirectUri(signedOutUri);

        return http
            .authorizeHttpRequests(allow -> allow
                .requestMatchers("/", "/login", "/error").permitAll()
                .anyRequest().authenticated())
            .oauth2Login(login -> login
                .loginPage("/oauth2/authorization/gatehouse")
                .authorizationEndpoint(endpoint -> endpoint.authorizationRequestResolver(requests))
                .tokenEndpoint(endpoint -> endpoint.accessTokenResponseClient(tokens))
                .defaultSuccessUrl("/", true)
                // Without this handler, a failed sign-in restarts in an endless loop.
                .failureHandler((request, response, problem) -> response.sendError(502, problem.getMessage())))
            .logout(logout -> logout.logoutSuccessHandler(signOut))
            .build();
    }

    @GetMapping("/login")
    RedirectView login() {
        return new RedirectView("/oauth2/authorization/gatehouse");
    }

    /** Spring refreshes expired tokens automatically. This endpoint refreshes a valid token, too. */
    @GetMapping("/refresh")
    RedirectView refresh(
            @RegisteredOAuth2AuthorizedClient("gatehouse") OAuth2AuthorizedClient client,
            Authentication person, HttpServletRequest request, HttpServletResponse response) {
        var tokens = new RestClientRefreshTokenTokenResponseClient();
        tokens.setParametersCustomizer(parameters -> parameters.set("resource", issuer));
        var provider = new RefreshTokenOAuth2AuthorizedClientProvider();
        provider.setAccessTokenResponseClient(tokens);
        provider.setClockSkew(Duration.ofDays(1));
        var context = OAuth2AuthorizationContext.withAuthorizedClient(client).principal(person).build();
        store.saveAuthorizedClient(provider.authorize(context), person, request, response);
        return new RedirectView("/");
    }

    /** Spring signs the user out only when a form is submitted. */
    @GetMapping(path = "/logout", produces = MediaType.TEXT_HTML_VALUE)
    String logout(CsrfToken csrf) {
        return """
            <form method="post" action="/logout">
            <input type="hidden" name="%s" value="%s"><button type="submit">Sign out</button></form>
            """.formatted(csrf.getParameterName(), csrf.getToken());
    }

    @GetMapping(path = "/", produces = MediaType.TEXT_HTML_VALUE)
    String home(Authentication person, HttpServletRequest request) {
        if (person == null) return "<a href=\"/login\">Sign in</a>";
        OAuth2AuthorizedClient client = store.loadAuthorizedClient("gatehouse", person, request);
        return RestClient.create().post()
            .uri(URI.create(issuer + "/member/graphql"))
            .headers(headers -> headers.setBearerAuth(client.getAccessToken().getTokenValue()))
            .contentType(MediaType.APPLICATION_JSON)
            .body(Map.of("query", "{ viewer { name } }"))
            .retrieve()
            .body(String.class);
    }
}
