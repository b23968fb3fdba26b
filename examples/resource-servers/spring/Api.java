// An API in Spring Boot that takes this service's access tokens; application.yaml is beside this file.
import java.util.List;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.core.OAuth2AuthenticatedPrincipal;
import org.springframework.security.oauth2.server.resource.introspection.BadOpaqueTokenException;
import org.springframework.security.oauth2.server.resource.introspection.OpaqueTokenIntrospector;
import org.springframework.security.oauth2.server.resource.introspection.SpringOpaqueTokenIntrospector;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

@SpringBootApplication
@RestController
class Api {
  public static void main(String[] arguments) {
    SpringApplication.run(Api.class, arguments);
  }

  @Bean
  SecurityFilterChain rules(HttpSecurity http) throws Exception {
    return http
        .authorizeHttpRequests(
            requests -> requests.requestMatchers("/orders").hasAuthority("SCOPE_account:read").anyRequest().denyAll())
        .oauth2ResourceServer(server -> server.opaqueToken(Customizer.withDefaults()))
        .build();
  }

  // Spring looks at `active` and `exp` only. A refresh token is active too, and has no aud and no token_type.
  @Bean
  OpaqueTokenIntrospector introspector(
      @Value("${spring.security.oauth2.resourceserver.opaquetoken.introspection-uri}") String uri,
      @Value("${spring.security.oauth2.resourceserver.opaquetoken.client-id}") String id,
      @Value("${spring.security.oauth2.resourceserver.opaquetoken.client-secret}") String secret,
      @Value("${ISSUER}") String issuer) {
    var service = new SpringOpaqueTokenIntrospector(uri, id, secret);
    return token -> {
      OAuth2AuthenticatedPrincipal told = service.introspect(token);
      if (!List.of(issuer).equals(told.getAttribute("aud")) || !"Bearer".equals(told.getAttribute("token_type"))) {
        throw new BadOpaqueTokenException("not an access token of this service");
      }
      return told;
    };
  }

  @GetMapping("/orders")
  Map<String, Object> orders(@AuthenticationPrincipal OAuth2AuthenticatedPrincipal token) {
    return Map.of("hello", token.getAttribute("sub"), "authorities", token.getAuthorities().toString());
  }
}
